#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/quantity.h"
#include "core/base/result.h"

namespace plimsoll {

class KnownPackings;

/// Half-open interval of instruction ids.
struct Lifespan {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  [[nodiscard]] bool overlaps(const Lifespan& other) const { return begin < other.end && other.begin < end; }
};

/// Bytes that need a place while they live.
struct PackItem {
  Lifespan life;
  Bytes bytes;
  Bytes alignment{1};  ///< a power of two; the packing's own alignment holds besides
};

/// An offset for each item, and the height that they reach.
struct Packing {
  std::vector<Bytes> offsets;
  Bytes height;
};

/// Places the items so that none that live together overlap; every offset is a multiple of `alignment` and of the item's own.
/// Greedy best fit over up to four orders (size, area, duration, begin) until one comes within 0.1 % of the bound; the
/// lowest height wins, ties by the order given. No further order is tried once one is no higher than `enough`.
/// What `known` says is not packed again.
Packing pack_arena(std::span<const PackItem> items, Bytes alignment, Bytes enough = Bytes(0), KnownPackings* known = nullptr);

/// No packing is lower: the largest sum of sizes (rounded up to `alignment`, but for the topmost) that live at one moment.
Bytes load_bound(std::span<const PackItem> items, Bytes alignment);

/// Checks a packing without trusting who made it: alignment, no overlap in time and place, the stated height.
Result<void> verify_packing(std::span<const PackItem> items, const Packing& packing, Bytes alignment);

}  // namespace plimsoll
