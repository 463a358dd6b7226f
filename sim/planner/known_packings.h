#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "sim/planner/pack_arena.h"

namespace plimsoll {

/// What the greedy packing came to, by fingerprints of all that it follows from: who lives with whom, sizes and alignments, and the order.
/// In some two fifths of the arenas that a search packs the same live together as in one before, though other instructions lie
/// between. Any thread may ask; an answer is what the asker would have come to, so it depends on no order.
class KnownPackings {
 public:
  struct Key {
    std::uint64_t items = 0;
    std::uint64_t order = 0;  ///< with what limits the packing

    friend auto operator<=>(const Key&, const Key&) = default;
  };

  /// Nothing where nobody packed it; a null pointer where it got as high as its limit.
  [[nodiscard]] std::optional<std::shared_ptr<const Packing>> find(const Key& key) const;
  /// Without room for it, it is left out.
  void keep(const Key& key, const std::optional<Packing>& packing);

 private:
  static constexpr std::int64_t kMostOffsets = 4'000'000;  ///< of 8 bytes each

  mutable std::mutex mutex_;
  std::int64_t room_ = kMostOffsets;
  std::map<Key, std::shared_ptr<const Packing>> packings_;
};

}  // namespace plimsoll
