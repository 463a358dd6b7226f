#include "sim/planner/placed_items.h"

#include <algorithm>

namespace plimsoll {
namespace {

/// Half of the shortest window: shorter ones cost long-lived items more than they save short-lived ones.
constexpr std::uint32_t kShortestHalf = 512;

}  // namespace

PlacedItems::PlacedItems(std::uint32_t end_of_time) {
  std::uint32_t half = kShortestHalf;
  do {
    levels_.push_back({half, std::vector<Window>(end_of_time / half + 1)});
    half *= 2;
  } while (half / 2 < end_of_time);
}

void PlacedItems::add(const PlacedItem& item) {
  for (Level& level : levels_) {
    const std::uint32_t first = item.life.begin / level.half;
    const std::uint32_t last = (std::max(item.life.end, 1u) - 1) / level.half;
    for (std::uint32_t w = first == 0 ? 0 : first - 1; w <= last; ++w) level.windows[w].items.push_back(item);
  }
}

void PlacedItems::sort(Window& window) {
  if (window.sorted == window.items.size()) return;
  const auto lower = [](const PlacedItem& a, const PlacedItem& b) { return a.begin < b.begin; };
  const auto fresh = window.items.begin() + static_cast<std::ptrdiff_t>(window.sorted);
  if (fresh + 1 == window.items.end()) {  // mostly
    const PlacedItem item = *fresh;
    const auto place = std::upper_bound(window.items.begin(), fresh, item, lower);
    std::move_backward(place, fresh, window.items.end());
    *place = item;
  } else {
    std::stable_sort(fresh, window.items.end(), lower);
    std::inplace_merge(window.items.begin(), fresh, window.items.end(), lower);
  }
  window.sorted = window.items.size();
}

const std::vector<PlacedItem>& PlacedItems::around(const Lifespan& life) {
  const auto level = std::find_if(levels_.begin(), levels_.end() - 1,
                                  [&](const Level& candidate) { return life.end - life.begin <= candidate.half; });
  Window& window = level->windows[life.begin / level->half];
  sort(window);
  return window.items;
}

}  // namespace plimsoll
