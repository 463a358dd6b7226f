#include "core/plan/byte_ranges.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>
#include <utility>

namespace plimsoll {
namespace {

constexpr std::uint32_t kNone = 0xffffffffu;

std::uint64_t hash_of(const Use& use) {
  std::uint64_t hash = (use.target + (std::uint64_t{use.age} << 32)) * 0x9e3779b97f4a7c15u;
  hash ^= static_cast<std::uint64_t>(use.offset.count) * 0xc2b2ae3d27d4eb4fu;
  hash ^= static_cast<std::uint64_t>(use.bytes.count) * 0x165667b19e3779f9u;
  return hash ^ (hash >> 29);
}

/// Where uses begin or end, by space and byte. Few of them differ: packed buffers lie above one another again and
/// again, so that they are numbered as they come and sorted once each.
class Cuts {
 public:
  std::uint32_t number_of(SpaceId space, Bytes byte) {
    if (2 * places_.size() >= table_.size()) grow();
    const Place place{space.index, byte.count};
    std::uint32_t& slot = table_[slot_of(place)];
    if (slot == kNone) {
      slot = static_cast<std::uint32_t>(places_.size());
      places_.push_back(place);
    }
    return slot;
  }

  /// By number: how many come before.
  [[nodiscard]] std::vector<std::uint32_t> ranks() const {
    std::vector<std::pair<Place, std::uint32_t>> sorted;
    sorted.reserve(places_.size());
    for (std::uint32_t i = 0; i < places_.size(); ++i) sorted.emplace_back(places_[i], i);
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::uint32_t> ranks(places_.size());
    for (std::uint32_t rank = 0; rank < sorted.size(); ++rank) ranks[sorted[rank].second] = rank;
    return ranks;
  }

 private:
  using Place = std::pair<std::uint32_t, std::int64_t>;

  [[nodiscard]] std::size_t slot_of(const Place& place) const {
    std::uint64_t hash =
        (static_cast<std::uint64_t>(place.second) + (std::uint64_t{place.first} << 56)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
    std::size_t slot = hash & (table_.size() - 1);
    while (table_[slot] != kNone && places_[table_[slot]] != place) slot = (slot + 1) & (table_.size() - 1);
    return slot;
  }

  void grow() {
    table_.assign(2 * table_.size(), kNone);
    for (std::uint32_t i = 0; i < places_.size(); ++i) table_[slot_of(places_[i])] = i;
  }

  std::vector<std::uint32_t> table_ = std::vector<std::uint32_t>(2048, kNone);  ///< open addressing, at most half full
  std::vector<Place> places_;
};

}  // namespace

ByteRanges::ByteRanges(const Plan& plan, const FlatBody& body) {
  collect(plan, body);
  cut(plan);
  find_period();
}

/// Numbers the different ranges among the uses: a body of many layers and micro-batches names few of them many times.
void ByteRanges::collect(const Plan& plan, const FlatBody& body) {
  const std::size_t uses = body.list.uses.size();
  std::vector<std::uint32_t> table(std::max<std::size_t>(1024, std::bit_ceil(uses)), kNone);  // open addressing, at most half full
  ranges_.reserve(uses / 2);
  const auto place_of = [&](const Use& use) {
    std::size_t slot = hash_of(use) & (table.size() - 1);
    while (table[slot] != kNone) {
      const Range& known = ranges_[table[slot]];
      if (known.buffer == use.target && known.offset == use.offset && known.bytes == use.bytes && known.age == use.age) {
        break;
      }
      slot = (slot + 1) & (table.size() - 1);
    }
    return slot;
  };
  range_of_use_.reserve(uses);
  for (const Use& use : body.list.uses) {
    std::size_t slot = place_of(use);
    if (table[slot] == kNone) {
      table[slot] = static_cast<std::uint32_t>(ranges_.size());
      ranges_.push_back({use.target, plan.buffers[use.target].slots, use.age, use.offset, use.bytes, 0, {}, {}});
      const Buffer& buffer = plan.buffers[use.target];
      if (buffer.slots > 1) ranges_.back().pitch = buffer.pitch();
    }
    range_of_use_.push_back(table[slot]);
    if (ranges_.size() * 2 < table.size()) continue;
    table.assign(table.size() * 2, kNone);
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      const Range& known = ranges_[i];
      table[place_of({known.buffer, Access::kRead, known.offset, known.bytes, known.age})] = static_cast<std::uint32_t>(i);
    }
  }
}

/// Finds the elementary ranges that each range covers in each of its buffer's slots.
void ByteRanges::cut(const Plan& plan) {
  Cuts cuts;
  for (Range& range : ranges_) {
    const Buffer& buffer = plan.buffers[range.buffer];
    range.first_span = static_cast<std::uint32_t>(spans_.size());
    for (std::uint32_t slot = 0; slot < range.slots; ++slot) {
      const Bytes begin = buffer.offset_in(slot) + range.offset;
      spans_.push_back({cuts.number_of(buffer.space, begin), cuts.number_of(buffer.space, begin + range.bytes)});
    }
  }
  const std::vector<std::uint32_t> ranks = cuts.ranks();
  for (ElementSpan& span : spans_) span = {ranks[span.begin], ranks[span.end]};
  for (Range& range : ranges_) range.in_slot_0 = spans_[range.first_span];
  element_count_ = static_cast<std::uint32_t>(ranks.size());
}

/// Decides how many steps show every conflict; see the class.
void ByteRanges::find_period() {
  // Of slots with other distances the second ones may share bytes where the first do not.
  std::vector<std::tuple<std::uint32_t, std::uint32_t, Bytes>> covered_by(element_count_);  // (slots, slot, pitch)
  std::uint64_t most = 1, period = 1;
  for (const Range& range : ranges_) {
    most = std::max<std::uint64_t>(most, range.slots + range.age);
    period = std::min<std::uint64_t>(std::lcm(period, std::uint64_t{range.slots}), std::uint64_t{1} << 20);
    for (std::uint32_t slot = 0; slot < range.slots; ++slot) {
      const ElementSpan span = spans_[range.first_span + slot];
      for (std::uint32_t element = span.begin; element < span.end; ++element) {
        const std::tuple cover(range.slots, slot, range.pitch);
        if (std::get<0>(covered_by[element]) == 0) covered_by[element] = cover;
        mixed_ = mixed_ || covered_by[element] != cover;
      }
    }
  }
  copies_ = mixed_ ? 2 * period : most + 1;
}

}  // namespace plimsoll
