#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>

#include "executor/tiers/block_io.h"

namespace plimsoll {

/// Where SSD data goes, and how it moves.
struct DriveOptions {
  std::string folder = ".";
  IoWay way = IoWay::kBest;
};

/// The SSD arena of a plan: zeros in a nameless file, until something is written.
class Drive {
 public:
  /// Reserves `bytes`; `direct` asks to bypass the page cache. Throws EnvironmentError when there is too little room.
  Drive(Bytes bytes, bool direct, const DriveOptions& options);

  /// Call once, before the first transfer, with the memory that transfers will touch (see open_block_io).
  void start(std::span<const std::span<std::byte>> memory);

  /// See BlockIo; both throw EnvironmentError when the drive fails.
  void read(Bytes offset, std::span<std::byte> into);
  void write(Bytes offset, std::span<const std::byte> from);

  /// One past the highest byte that was written.
  [[nodiscard]] Bytes touched() const { return Bytes(touched_.load()); }
  /// "io_uring with registered buffers, O_DIRECT, ext4"; what is not the best comes with its reason.
  [[nodiscard]] std::string describe() const;
  /// Why rates here may not be a drive's; empty when nothing speaks against it.
  [[nodiscard]] std::string warning() const;

 private:
  /// Buffered bytes should not crowd memory that plans count on.
  void forget(Bytes offset, std::size_t bytes) const;

  IoWay way_;
  bool wants_direct_;
  DriveFile file_;
  OpenedIo opened_;
  std::atomic<std::int64_t> touched_{0};
};

}  // namespace plimsoll
