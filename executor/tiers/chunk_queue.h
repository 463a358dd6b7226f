#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/quantity.h"
#include "executor/tiers/block_io.h"

namespace plimsoll {

enum class IoDirection : std::uint8_t { kRead, kWrite };

struct Transfer;

/// A part of a transfer that one operation of the kernel moves.
struct Chunk {
  Transfer* transfer = nullptr;
  std::int64_t offset = 0;
  std::byte* data = nullptr;
  std::int64_t bytes = 0;
  std::int64_t before = 0;  ///< bytes right before it that operations on the same chunk moved
};

/// One caller's bytes on their way; lives on the caller's stack from `add` to `wait`.
struct Transfer {
  IoDirection direction = IoDirection::kRead;
  std::int64_t offset = 0;  ///< in the file
  std::byte* data = nullptr;
  std::int64_t bytes = 0;
  std::int64_t handed_out = 0;
  std::int64_t under_way = 0;  ///< chunks handed out that have not ended
  std::string failure;
  bool looked_at = false;     ///< of a read: its caller sees each chunk
  std::vector<Chunk> arrived;  ///< and has not seen these
};

Transfer reading(Bytes offset, std::span<std::byte> into, bool looked_at = false);
Transfer writing(Bytes offset, std::span<const std::byte> from);

/// Cuts transfers into chunks, at multiples of the chunk's size in the file, and hands these out in turn, so that many transfers
/// progress together. Callers add and wait; whoever moves bytes takes and ends. All members may be called from any thread.
class ChunkQueue {
 public:
  /// Of an operation that moved less than asked, whole multiples of `block` count.
  ChunkQueue(Bytes chunk, Bytes block) : chunk_(chunk.count), block_(block.count) {}

  void add(Transfer& transfer);
  /// Returns when all chunks of the transfer have ended; until then `look` sees its bytes. Throws EnvironmentError with the first
  /// failure.
  void wait(Transfer& transfer, const LookAtBytes& look = {});

  /// The next chunk, if there is one.
  std::optional<Chunk> take();
  /// Blocks until there is a chunk; nothing once the queue is closed.
  std::optional<Chunk> wait_for_chunk();
  /// `result` is what the operation answered: bytes moved, or a negated errno. A rest is handed out again.
  void end(const Chunk& chunk, std::int64_t result);
  void close();

 private:
  std::optional<Chunk> take_locked();
  void show_arrivals(Transfer& transfer, const LookAtBytes& look);

  const std::int64_t chunk_;
  const std::int64_t block_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::condition_variable added_;
  std::deque<Transfer*> open_;  ///< transfers with bytes left to hand out
  std::deque<Chunk> rests_;     ///< of operations that moved less than asked
  bool closed_ = false;
};

}  // namespace plimsoll
