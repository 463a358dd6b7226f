#pragma once

#include <liburing.h>

#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "executor/tiers/block_io.h"
#include "executor/tiers/chunk_queue.h"

namespace plimsoll {

/// io_uring: one ring for all callers, and one thread that takes what has ended and submits what comes next.
class RingIo final : public BlockIo {
 public:
  /// Throws EnvironmentError when the kernel allows no ring.
  RingIo(const DriveFile& file, const IoDepth& depth);
  ~RingIo() override;

  /// Pins `memory` for the ring, before any transfer. Says why the kernel refused, or nothing.
  std::optional<std::string> register_memory(std::span<const std::span<std::byte>> memory);

  void read(Bytes offset, std::span<std::byte> into, const LookAtBytes& look) override;
  void write(Bytes offset, std::span<const std::byte> from, const LookAtBytes& look) override;
  [[nodiscard]] std::string name() const override;

 private:
  void move(Transfer transfer, const LookAtBytes& look);
  /// Fills the ring from the queue.
  void submit();
  void prepare(io_uring_sqe& entry, std::size_t slot) const;
  void push_to_kernel(io_uring_sqe& entry, std::size_t slot);
  void reap();

  const DriveFile& file_;
  ChunkQueue queue_;
  io_uring ring_{};
  std::vector<iovec> registered_;
  std::mutex mutex_;  ///< guards the submission side: the ring's entries, chunks_ and free_
  std::vector<Chunk> chunks_;
  std::vector<std::size_t> free_;  ///< slots of chunks_ that are not under way
  std::thread reaper_;
};

}  // namespace plimsoll
