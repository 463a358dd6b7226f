#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "executor/tiers/drive_file.h"

namespace plimsoll {

/// Is shown bytes of a transfer on the thread that asked for it, while others of it are on their way: of a read when they are
/// there, none twice, in parts that end at multiples of IoDepth::chunk in the file; of a write all at once. Must not throw.
using LookAtBytes = std::function<void(Bytes offset, std::span<const std::byte> bytes)>;

/// Moves bytes between a file and memory. Threads may call it at the same time for bytes that do not overlap. With a
/// direct file, offsets, lengths and memory are multiples of kStorageAlignment.
class BlockIo {
 public:
  virtual ~BlockIo() = default;

  /// Returns when all bytes are there; throws EnvironmentError when the drive fails or the file ends before.
  virtual void read(Bytes offset, std::span<std::byte> into, const LookAtBytes& look) = 0;
  /// Returns when the kernel has taken all bytes (for a direct file: the drive); throws as `read` does.
  virtual void write(Bytes offset, std::span<const std::byte> from, const LookAtBytes& look) = 0;
  void read(Bytes offset, std::span<std::byte> into) { read(offset, into, {}); }
  void write(Bytes offset, std::span<const std::byte> from) { write(offset, from, {}); }
  /// "io_uring with registered buffers", "io_uring", "pread and pwrite on 8 threads".
  [[nodiscard]] virtual std::string name() const = 0;
};

/// The ways to move bytes, best first. kBest takes the first that this computer allows.
enum class IoWay { kBest, kRegisteredRing, kRing, kThreads };

/// A way that works, and why no better one was taken (empty when it is the best).
struct OpenedIo {
  std::unique_ptr<BlockIo> io;
  std::string reason;
};

/// How much is under way at once.
struct IoDepth {
  Bytes chunk = kMiB;    ///< transfers are cut into these
  unsigned chunks = 32;  ///< under way at most, over all transfers
};

/// Opens `file` that way, or a worse one when the kernel refuses. `memory` is what transfers will touch; a ring
/// registers it, so that the kernel pins it once. The file must outlive the result.
OpenedIo open_block_io(const DriveFile& file, std::span<const std::span<std::byte>> memory, IoWay way = IoWay::kBest,
                       const IoDepth& depth = {});

}  // namespace plimsoll
