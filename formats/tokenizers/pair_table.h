#pragma once

#include <cstdint>
#include <vector>

namespace plimsoll {

/// What two neighbouring tokens become, and how early that was learned.
struct Merge {
  std::int32_t rank = 0;
  std::int32_t joined = 0;
};

/// Merges by their pair of tokens: open addressing over a table at most half full, because this lookup is the inner loop
/// of tokenizing.
class PairTable {
 public:
  explicit PairTable(std::size_t most = 0) { slots_.resize(capacity_for(most)); }

  /// Of a pair that is given twice the later merge counts.
  void insert(std::int32_t left, std::int32_t right, Merge merge) {
    const std::uint64_t key = key_of(left, right);
    slots_[place_of(key)] = {key, merge};
  }

  [[nodiscard]] const Merge* find(std::int32_t left, std::int32_t right) const {
    const Slot& slot = slots_[place_of(key_of(left, right))];
    return slot.key == kNone ? nullptr : &slot.merge;
  }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};  // no pair: ids are not negative

  struct Slot {
    std::uint64_t key = kNone;
    Merge merge;
  };

  static std::size_t capacity_for(std::size_t most) {
    std::size_t capacity = 2;
    while (capacity < 2 * most + 1) capacity *= 2;
    return capacity;
  }

  static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
  }

  /// The pair's slot, or the free one where it would go. Fibonacci hashing: the upper bits of the product are the best.
  [[nodiscard]] std::size_t place_of(std::uint64_t key) const {
    std::size_t place = static_cast<std::size_t>((key * 0x9E3779B97F4A7C15u) >> 20) & (slots_.size() - 1);
    while (slots_[place].key != kNone && slots_[place].key != key) place = (place + 1) & (slots_.size() - 1);
    return place;
  }

  std::vector<Slot> slots_;
};

}  // namespace plimsoll
