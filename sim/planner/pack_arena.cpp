#include "sim/planner/pack_arena.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sim/planner/placed_items.h"

namespace plimsoll {
namespace {

/// Orders are tried until one comes within this fraction (one part in so many) of the bound.
constexpr std::int64_t kNearEnough = 1000;

using Order = std::vector<std::uint32_t>;

Bytes alignment_of(const PackItem& item, Bytes alignment) { return std::max(item.alignment, alignment); }

/// The smallest gap that holds `item` among the placed ones that live with it, else the place above them.
std::int64_t best_gap(PlacedItems& placed, const PackItem& item, Bytes alignment) {
  std::int64_t floor = 0;
  std::int64_t best = -1;
  std::int64_t best_size = 0;
  for (const std::uint32_t neighbour : placed.around(item.life)) {
    const PlacedItem& other = placed.items()[neighbour];
    if (!other.life.overlaps(item.life)) continue;
    const std::int64_t gap = other.begin - floor;
    if (gap >= item.bytes.count && (best < 0 || gap < best_size)) {
      best = floor;
      best_size = gap;
      if (gap == item.bytes.count) break;  // none is smaller
    }
    floor = std::max(floor, align_up(Bytes(other.end), alignment_of(item, alignment)).count);
  }
  return best < 0 ? floor : best;
}

Packing pack_in_order(std::span<const PackItem> items, const Order& order, Bytes alignment) {
  Packing packing{.offsets = std::vector<Bytes>(items.size()), .height = Bytes(0)};
  std::uint32_t end_of_time = 0;
  for (const PackItem& item : items) end_of_time = std::max(end_of_time, item.life.end);
  PlacedItems placed(end_of_time);
  for (const std::uint32_t i : order) {
    const std::int64_t offset = best_gap(placed, items[i], alignment);
    placed.add({offset, offset + items[i].bytes.count, items[i].life});
    packing.offsets[i] = Bytes(offset);
    packing.height = std::max(packing.height, Bytes(offset + items[i].bytes.count));
  }
  return packing;
}

template <typename Key>
Order sorted_by(std::span<const PackItem> items, Key key) {
  Order order(items.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return key(items[a]) > key(items[b]); });
  return order;
}

double duration(const PackItem& item) { return static_cast<double>(item.life.end - item.life.begin); }
double size(const PackItem& item) { return static_cast<double>(item.bytes.count); }

}  // namespace

Packing pack_arena(std::span<const PackItem> items, Bytes alignment) {
  const Bytes bound = load_bound(items, alignment);
  const Order orders[] = {
      sorted_by(items, [](const PackItem& i) { return std::pair(size(i), duration(i)); }),
      sorted_by(items, [](const PackItem& i) { return std::pair(duration(i) * size(i), 0.0); }),
      sorted_by(items, [](const PackItem& i) { return std::pair(duration(i), size(i)); }),
      sorted_by(items, [](const PackItem& i) { return std::pair(-static_cast<double>(i.life.begin), size(i)); }),
  };
  Packing best;
  for (const Order& order : orders) {
    Packing packing = pack_in_order(items, order, alignment);
    if (best.offsets.empty() || packing.height < best.height) best = std::move(packing);
    if (best.height.count - bound.count <= bound.count / kNearEnough) break;
  }
  return best;
}

Bytes load_bound(std::span<const PackItem> items, Bytes alignment) {
  struct Edge {
    std::uint32_t at;
    std::int64_t change;
  };
  std::vector<Edge> edges;
  std::int64_t largest_rounding = 0;
  for (const PackItem& item : items) {
    const std::int64_t rounded = align_up(item.bytes, alignment).count;
    largest_rounding = std::max(largest_rounding, rounded - item.bytes.count);
    edges.push_back({item.life.begin, rounded});
    edges.push_back({item.life.end, -rounded});
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return std::pair(a.at, a.change) < std::pair(b.at, b.change);
  });
  std::int64_t load = 0;
  std::int64_t most = 0;
  for (const Edge& edge : edges) most = std::max(most, load += edge.change);
  return Bytes(std::max<std::int64_t>(0, most - largest_rounding));
}

Result<void> verify_packing(std::span<const PackItem> items, const Packing& packing, Bytes alignment) {
  const auto defect = [](std::string what) { return fail({.kind = ErrorKind::kDefect, .what = std::move(what)}); };
  if (packing.offsets.size() != items.size()) return defect("a packing must give every item an offset");
  Bytes height;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Bytes begin = packing.offsets[i];
    const Bytes end = begin + items[i].bytes;
    if (begin.count < 0 || begin.count % alignment_of(items[i], alignment).count != 0)
      return defect(fmt::format("item {} lies at {}", i, begin.count));
    height = std::max(height, end);
    for (std::size_t j = 0; j < i; ++j) {
      if (!items[i].life.overlaps(items[j].life)) continue;
      if (begin < packing.offsets[j] + items[j].bytes && packing.offsets[j] < end) {
        return defect(fmt::format("items {} and {} live together and overlap", j, i));
      }
    }
  }
  if (height != packing.height) return defect(fmt::format("height is {}, not {}", height.count, packing.height.count));
  return {};
}

}  // namespace plimsoll
