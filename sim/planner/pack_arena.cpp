#include "sim/planner/pack_arena.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>
#include <optional>

#include "core/base/running_digest.h"
#include "sim/planner/known_packings.h"
#include "sim/planner/placed_items.h"
#include "sim/planner/ranked_lives.h"

namespace plimsoll {
namespace {

/// Orders are tried until one comes within this fraction (one part in so many) of the bound.
constexpr std::int64_t kNearEnough = 1000;
constexpr Bytes kNoLimit(std::numeric_limits<std::int64_t>::max());

using Order = std::vector<std::uint32_t>;

Bytes alignment_of(const PackItem& item, Bytes alignment) { return std::max(item.alignment, alignment); }

/// The smallest gap that holds `item` among the placed ones that live with it, else the place above them.
template <typename Moment>
std::int64_t best_gap(PlacedItemsOf<Moment>& placed, const PackItem& item, const Lifespan& life, Bytes alignment) {
  const Bytes aligned = alignment_of(item, alignment);
  std::int64_t floor = 0;
  std::int64_t best = -1;
  std::int64_t best_size = kNoLimit.count;
  placed.for_each_beside(life, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t gap = begin - floor;
    if (gap >= item.bytes.count && gap < best_size) {
      best = floor;
      best_size = gap;
      if (gap == item.bytes.count) return false;  // none is smaller
    }
    floor = std::max(floor, align_up(Bytes(end), aligned).count);  // no branch: which is higher is hard to guess
    return true;
  });
  return best < 0 ? floor : best;
}

/// Items, and when they live among themselves.
struct Ranked {
  explicit Ranked(std::span<const PackItem> of) : items(of), lives(ranked_lives(of)) {
    for (const Lifespan& life : lives) end_of_time = std::max(end_of_time, life.end);
  }

  std::span<const PackItem> items;
  std::vector<Lifespan> lives;
  std::uint32_t end_of_time = 0;
};

std::uint64_t fingerprint_of_items(const Ranked& ranked) {
  std::vector<std::array<std::uint64_t, 3>> words;
  words.reserve(ranked.items.size());
  for (std::size_t i = 0; i < ranked.items.size(); ++i) {
    const Lifespan& life = ranked.lives[i];
    words.push_back({std::uint64_t{life.begin} << 32 | life.end, static_cast<std::uint64_t>(ranked.items[i].bytes.count),
                     static_cast<std::uint64_t>(ranked.items[i].alignment.count)});
  }
  return fingerprint_of(std::as_bytes(std::span(words)));
}

std::uint64_t fingerprint_of_order(const Order& order, Bytes alignment, Bytes limit) {
  const std::array<std::int64_t, 3> words{static_cast<std::int64_t>(fingerprint_of(std::as_bytes(std::span(order)))),
                                          alignment.count, limit.count};
  return fingerprint_of(std::as_bytes(std::span(words)));
}

template <typename Moment>
std::optional<Packing> place_one_by_one(const Ranked& ranked, const Order& order, Bytes alignment, Bytes limit) {
  Packing packing{.offsets = std::vector<Bytes>(order.size()), .height = Bytes(0)};
  PlacedItemsOf<Moment> placed(ranked.end_of_time);
  for (const Lifespan& life : ranked.lives) placed.expect(life);
  for (const std::uint32_t i : order) {
    const std::int64_t offset = best_gap(placed, ranked.items[i], ranked.lives[i], alignment);
    const std::int64_t end = offset + ranked.items[i].bytes.count;
    placed.add({offset, end, ranked.lives[i]});
    packing.offsets[i] = Bytes(offset);
    packing.height = std::max(packing.height, Bytes(end));
    if (packing.height >= limit) return std::nullopt;
  }
  return packing;
}

/// Nothing where it gets as high as `limit`.
std::optional<Packing> place_in_order(const Ranked& ranked, const Order& order, Bytes alignment, Bytes limit) {
  if (ranked.end_of_time <= std::numeric_limits<std::int16_t>::max())
    return place_one_by_one<std::int16_t>(ranked, order, alignment, limit);
  return place_one_by_one<std::int32_t>(ranked, order, alignment, limit);
}

/// Packs the same items in one order after another.
class Packer {
 public:
  Packer(std::span<const PackItem> items, Bytes alignment, KnownPackings* known)
      : ranked_(items), alignment_(alignment), known_(known), fingerprint_(known ? fingerprint_of_items(ranked_) : 0) {}

  std::optional<Packing> pack(const Order& order, Bytes limit) {
    if (known_ == nullptr) return place_in_order(ranked_, order, alignment_, limit);
    const KnownPackings::Key key{fingerprint_, fingerprint_of_order(order, alignment_, limit)};
    if (const auto known = known_->find(key)) return *known ? std::optional(**known) : std::nullopt;
    auto packing = place_in_order(ranked_, order, alignment_, limit);
    known_->keep(key, packing);
    return packing;
  }

 private:
  Ranked ranked_;
  Bytes alignment_;
  KnownPackings* known_;
  std::uint64_t fingerprint_;
};

/// Numbers that compare as what they stand for, faster than pairs of doubles.
struct Key {
  std::uint64_t first = 0, second = 0;
  std::uint32_t item = 0;

  /// The largest key first, ties as they came.
  [[nodiscard]] bool before(const Key& other) const {
    if (first != other.first) return first > other.first;
    return second != other.second ? second > other.second : item < other.item;
  }
};

Order sorted_by(std::span<const PackItem> items, Key (*key)(const PackItem&)) {
  std::vector<Key> keyed(items.size());
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    keyed[i] = key(items[i]);
    keyed[i].item = i;
  }
  std::sort(keyed.begin(), keyed.end(), [](const Key& a, const Key& b) { return a.before(b); });
  Order order(items.size());
  std::transform(keyed.begin(), keyed.end(), order.begin(), [](const Key& one) { return one.item; });
  return order;
}

std::uint64_t duration(const PackItem& item) { return item.life.end - item.life.begin; }
std::uint64_t size(const PackItem& item) { return static_cast<std::uint64_t>(item.bytes.count); }
/// Rounded as a product of doubles is: what is alike to their 53 bits stays as it came.
std::uint64_t area(const PackItem& item) {
  return std::bit_cast<std::uint64_t>(static_cast<double>(duration(item)) * static_cast<double>(size(item)));
}
std::uint64_t earliness(const PackItem& item) { return std::numeric_limits<std::uint32_t>::max() - item.life.begin; }

}  // namespace

Packing pack_arena(std::span<const PackItem> items, Bytes alignment, Bytes enough, KnownPackings* known) {
  const Bytes bound = load_bound(items, alignment);
  constexpr Key (*kOrders[])(const PackItem&) = {
      [](const PackItem& i) { return Key{size(i), duration(i)}; },
      [](const PackItem& i) { return Key{area(i), 0}; },
      [](const PackItem& i) { return Key{duration(i), size(i)}; },
      [](const PackItem& i) { return Key{earliness(i), size(i)}; },
  };
  Packer packer(items, alignment, known);
  Packing best;
  for (const auto key : kOrders) {
    const Bytes limit = best.offsets.empty() ? kNoLimit : best.height;
    if (auto lower = packer.pack(sorted_by(items, key), limit)) best = std::move(*lower);
    if (best.height <= enough || best.height.count - bound.count <= bound.count / kNearEnough) break;
  }
  return best;
}

namespace {

/// Sums of sizes at every moment, one after another, where most moments begin or end something.
std::int64_t most_at_once(std::span<const PackItem> items, Bytes alignment, std::uint32_t end_of_time) {
  std::vector<std::int64_t> change(static_cast<std::size_t>(end_of_time) + 1, 0);
  for (const PackItem& item : items) {
    const std::int64_t rounded = align_up(item.bytes, alignment).count;
    change[item.life.begin] += rounded;
    change[item.life.end] -= rounded;
  }
  std::int64_t load = 0, most = 0;
  for (const std::int64_t by : change) most = std::max(most, load += by);
  return most;
}

/// The same where they lie far apart.
std::int64_t most_at_once(std::span<const PackItem> items, Bytes alignment) {
  std::vector<std::pair<std::uint32_t, std::int64_t>> changes;
  for (const PackItem& item : items) {
    const std::int64_t rounded = align_up(item.bytes, alignment).count;
    changes.emplace_back(item.life.begin, rounded);
    changes.emplace_back(item.life.end, -rounded);
  }
  std::sort(changes.begin(), changes.end());
  std::int64_t load = 0, most = 0;
  for (const auto& [at, by] : changes) most = std::max(most, load += by);
  return most;
}

}  // namespace

Bytes load_bound(std::span<const PackItem> items, Bytes alignment) {
  constexpr std::size_t kMomentsForEach = 64;
  std::int64_t largest_rounding = 0;
  std::uint32_t end_of_time = 0;
  for (const PackItem& item : items) {
    largest_rounding = std::max(largest_rounding, (align_up(item.bytes, alignment) - item.bytes).count);
    end_of_time = std::max(end_of_time, item.life.end);
  }
  const bool dense = end_of_time <= kMomentsForEach * items.size();
  const std::int64_t most = dense ? most_at_once(items, alignment, end_of_time) : most_at_once(items, alignment);
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
