#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>

#include "core/base/quantity.h"

namespace plimsoll {

/// Remembers fingerprints of what was written where, so that a drive that gives back other bytes is noticed. Members may be called
/// from any thread, at the same time for bytes that do not overlap.
class ChunkSums {
 public:
  static constexpr std::int64_t kChunk = 256 * 1024;  ///< what is written as a whole may be read in parts

  /// Bytes that a file holds from begin (inclusive) to end (exclusive).
  struct Chunk {
    Bytes begin;
    Bytes end;
  };

  void wrote(Bytes offset, std::span<const std::byte> bytes);
  /// Bytes that nobody here saw were written there.
  void wrote_unseen(Bytes offset, Bytes bytes);
  /// The first chunk among bytes that were read which is not what was written; nothing when all are, or were never written. A chunk
  /// of which only a part was read is not looked at.
  [[nodiscard]] std::optional<Chunk> find_changed(Bytes offset, std::span<const std::byte> bytes) const;
  /// What lies from `end` on is gone.
  void cut(Bytes end);

 private:
  struct Sum {
    std::int64_t bytes = 0;
    std::uint64_t fingerprint = 0;
  };
  void forget(std::int64_t begin, std::int64_t end);

  mutable std::mutex mutex_;
  std::map<std::int64_t, Sum> sums_;  ///< by offset; they do not overlap, and none crosses a multiple of the chunk
};

}  // namespace plimsoll
