#include "sim/planner/pack_within.h"

#include <algorithm>

#include "sim/planner/packing/solve_packing.h"

namespace plimsoll {
namespace {

/// A search looks at hundreds of strategies, so that one may not take long over its addresses.
constexpr std::size_t kMostItems = 4000;
constexpr std::int64_t kOrders = 4, kClimbs = 8;

}  // namespace

std::optional<Packing> pack_within(std::span<const PackItem> items, Bytes alignment, Bytes capacity) {
  if (items.size() > kMostItems || load_bound(items, Bytes(1)) > capacity) return std::nullopt;
  PackingTask task;
  for (const PackItem& item : items) {
    task.push_back({.id = {},
                    .life = {item.life.begin, item.life.end},
                    .size = item.bytes,
                    .alignment = std::max(item.alignment, alignment)});
  }
  PackingAnswer answer = fit_packing(task, capacity, {.attempts = kOrders, .climbs = kClimbs, .threads = 1});
  if (answer.verdict != PackingVerdict::kPacked) return std::nullopt;
  return Packing{std::move(answer.packing.offsets), answer.packing.height};
}

}  // namespace plimsoll
