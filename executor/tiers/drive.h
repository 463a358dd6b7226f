#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "executor/run_warning.h"
#include "executor/tiers/block_io.h"
#include "executor/tiers/chunk_sums.h"
#include "executor/tiers/drive_watch.h"

namespace plimsoll {

/// Where SSD data goes, and how it moves.
struct DriveOptions {
  std::string folder = ".";
  IoWay way = IoWay::kBest;
  bool checksums = false;  ///< compare what is read with what was written, while the rest of it is on its way
  /// Put around what moves the bytes, for tests: to slow or break a drive. May be empty.
  std::function<std::unique_ptr<BlockIo>(std::unique_ptr<BlockIo>)> interpose = {};
};

/// Memory of a device that transfers touch, too, without the host's, and what opens the way between it and a file; it may throw
/// EnvironmentError.
struct DeviceReach {
  std::vector<std::span<std::byte>> memory = {};
  std::function<std::unique_ptr<BlockIo>(const DriveFile& file, std::span<const std::span<std::byte>> memory)> open = {};
};

/// The SSD arena of a plan: zeros in a nameless file, until something is written.
class Drive {
 public:
  /// Reserves `bytes`; `direct` asks to bypass the page cache. Throws EnvironmentError when there is too little room.
  Drive(Bytes bytes, bool direct, const DriveOptions& options);

  /// Makes the file that long; what both lengths hold keeps its contents. To be started again afterwards. Throws as the
  /// constructor does, and the file stays as it is.
  void resize(Bytes bytes, bool direct);

  /// Call before the first transfer, with the memory that transfers will touch (see open_block_io), and that of a device; again
  /// when that changes. Throws EnvironmentError where a device is to be reached and the file does not bypass the page cache.
  void start(std::span<const std::span<std::byte>> memory, const DeviceReach& device = {});
  /// Lets go of all that memory; to be started again.
  void stop();

  /// Call before the first transfer to have the drive watched.
  void expect(ExpectedRates rates) { watch_.emplace(rates); }

  /// How errors name what lies at an offset; else by its bytes alone.
  void name_chunks(std::function<std::string(Bytes at)> name) { name_ = std::move(name); }

  /// See BlockIo; both throw EnvironmentError, which names the folder, when the drive fails. With checksums `read`
  /// throws it, with the chunk's name, when bytes are not those that were written; what passes between the file and a device is
  /// not looked at.
  void read(Bytes offset, std::span<std::byte> into);
  void write(Bytes offset, std::span<const std::byte> from);

  /// From now on `touched` counts what is written beyond `bytes`, which hold data.
  void count_from(Bytes bytes) { touched_ = bytes.count; }
  [[nodiscard]] Bytes size() const { return file_.size(); }
  /// One past the highest byte that was written.
  [[nodiscard]] Bytes touched() const { return Bytes(touched_.load()); }
  /// "io_uring with registered buffers, O_DIRECT, ext4"; what is not the best comes with its reason.
  [[nodiscard]] std::string describe() const;
  /// Why rates here may not be a drive's; empty when nothing speaks against it.
  [[nodiscard]] std::string warning() const;
  /// What to tell the user of a drive that became slow; nothing when it did not, or when it was told before.
  [[nodiscard]] std::optional<RunWarning> take_slowness();

 private:
  /// Runs `transfer`, watched, and adds to its failure where the data lies.
  template <typename Work>
  void move(IoDirection direction, std::size_t bytes, const Work& transfer);
  [[nodiscard]] bool is_of_device(const std::byte* begin) const;
  [[nodiscard]] std::string_view why_buffered() const;
  /// Buffered bytes should not crowd memory that plans count on.
  void forget(Bytes offset, std::size_t bytes) const;
  [[noreturn]] void refuse(const ChunkSums::Chunk& changed) const;

  DriveOptions options_;
  bool wants_direct_;
  DriveFile file_;
  OpenedIo opened_;
  std::vector<std::span<std::byte>> device_memory_;
  std::unique_ptr<BlockIo> device_io_;
  std::optional<DriveWatch> watch_;
  ChunkSums sums_;
  std::function<std::string(Bytes at)> name_;
  std::atomic<std::int64_t> touched_{0};
};

}  // namespace plimsoll
