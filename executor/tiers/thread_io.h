#pragma once

#include <thread>
#include <vector>

#include "executor/tiers/block_io.h"
#include "executor/tiers/chunk_queue.h"

namespace plimsoll {

/// pread and pwrite on threads of its own: works wherever files do.
class ThreadIo final : public BlockIo {
 public:
  ThreadIo(const DriveFile& file, const IoDepth& depth);
  ~ThreadIo() override;

  void read(Bytes offset, std::span<std::byte> into, const LookAtBytes& look) override;
  void write(Bytes offset, std::span<const std::byte> from, const LookAtBytes& look) override;
  [[nodiscard]] std::string name() const override;

 private:
  void work();
  void move(Transfer transfer, const LookAtBytes& look);

  const DriveFile& file_;
  ChunkQueue queue_;
  std::vector<std::jthread> threads_;  ///< last: joined before the queue goes
};

}  // namespace plimsoll
