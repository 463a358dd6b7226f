#include "sim/planner/placed_items.h"

#include <algorithm>

namespace plimsoll {
namespace {

/// Half of the shortest window: shorter ones cost long-lived items more than they save short-lived ones.
constexpr std::uint32_t kShortestHalf = 512;
/// Lives within so many moments share one window: to look through it costs less than to keep several in order.
constexpr std::uint32_t kOneWindow = 4096;

/// A few at a time mostly, for which std::stable_sort would ask for memory.
constexpr std::size_t kFew = 24;

void sort_by_place(std::vector<PlacedItem>& items) {
  const auto lower = [](const PlacedItem& a, const PlacedItem& b) { return a.begin < b.begin; };
  if (items.size() > kFew) return std::stable_sort(items.begin(), items.end(), lower);
  for (std::size_t i = 1; i < items.size(); ++i) {
    const PlacedItem item = items[i];
    std::size_t at = i;
    for (; at > 0 && lower(item, items[at - 1]); --at) items[at] = items[at - 1];
    items[at] = item;
  }
}

template <typename Value>
void move_up(std::vector<Value>& values, std::size_t begin, std::size_t end, std::size_t by) {
  std::memmove(values.data() + begin + by, values.data() + begin, (end - begin) * sizeof(Value));
}

}  // namespace

template <typename Moment>
PlacedItemsOf<Moment>::PlacedItemsOf(std::uint32_t end_of_time) {
  std::uint32_t half = end_of_time <= kOneWindow ? kOneWindow : kShortestHalf;
  do {
    levels_.push_back({half, std::vector<Window>(end_of_time / half + 1), 0});
    half *= 2;
  } while (half / 2 < end_of_time);
}

template <typename Moment>
void PlacedItemsOf<Moment>::expect(const Lifespan& life) {
  knows_all_ = true;
  Level& level = level_of(life);
  ++level.expected;
  ++level.windows[life.begin / level.half].expected;
}

template <typename Moment>
void PlacedItemsOf<Moment>::add(const PlacedItem& item) {
  for (Level& level : levels_) {
    if (knows_all_ && level.expected == 0) continue;
    const std::uint32_t first = item.life.begin / level.half;
    const std::uint32_t last = (std::max(item.life.end, 1u) - 1) / level.half;
    for (std::uint32_t w = first == 0 ? 0 : first - 1; w <= last; ++w) {
      if (knows_all_ && level.windows[w].expected == 0) continue;
      std::vector<PlacedItem>& fresh = level.windows[w].fresh;
      if (fresh.capacity() == 0) fresh.reserve(kFew);
      fresh.push_back(item);
    }
  }
}

/// From the highest to the lowest, so that what lies above a fresh one moves once.
template <typename Moment>
void PlacedItemsOf<Moment>::sort_in(Window& window) {
  sort_by_place(window.fresh);
  std::size_t known = window.places.size();
  const std::size_t count = known + window.fresh.size();
  window.places.resize(count);
  window.from.resize((count + kAtOnce - 1) / kAtOnce * kAtOnce);
  window.to.resize(window.from.size());
  for (std::size_t left = window.fresh.size(); left > 0; --left) {
    const PlacedItem& item = window.fresh[left - 1];
    const auto first = window.places.begin(), behind = first + static_cast<std::ptrdiff_t>(known);
    const auto above =
        std::upper_bound(first, behind, item.begin, [](auto begin, const Place& one) { return begin < one.begin; });
    const auto place = static_cast<std::size_t>(above - first);
    move_up(window.places, place, known, left);
    move_up(window.from, place, known, left);
    move_up(window.to, place, known, left);
    window.places[place + left - 1] = {item.begin, item.end};
    window.from[place + left - 1] = static_cast<Moment>(item.life.begin);
    window.to[place + left - 1] = static_cast<Moment>(item.life.end);
    known = place;
  }
  window.fresh.clear();
}

template <typename Moment>
typename PlacedItemsOf<Moment>::Level& PlacedItemsOf<Moment>::level_of(const Lifespan& life) {
  return *std::find_if(levels_.begin(), levels_.end() - 1,
                       [&](const Level& candidate) { return life.end - life.begin <= candidate.half; });
}

template <typename Moment>
const typename PlacedItemsOf<Moment>::Window& PlacedItemsOf<Moment>::sorted_window(const Lifespan& life) {
  Level& level = level_of(life);
  Window& window = level.windows[life.begin / level.half];
  if (!window.fresh.empty()) sort_in(window);
  if (knows_all_) {
    --level.expected;
    --window.expected;
  }
  return window;
}

template class PlacedItemsOf<std::int16_t>;
template class PlacedItemsOf<std::int32_t>;

}  // namespace plimsoll
