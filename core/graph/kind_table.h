#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "core/graph/op.h"

namespace plimsoll {

/// What every kind of kernel has one of, found at once. Its rows may stand in any order; where a kind has no row, or two, it
/// does not compile.
template <typename Value>
class KindTable {
 public:
  static constexpr std::size_t kKinds = static_cast<std::size_t>(kLastOpKind) + 1;
  using Rows = std::array<std::pair<OpKind, Value>, kKinds>;

  consteval explicit KindTable(const Rows& rows) {
    std::array<bool, kKinds> filled{};
    for (const auto& [kind, value] : rows) {
      const auto place = static_cast<std::size_t>(kind);
      if (std::exchange(filled[place], true)) throw "a kind of kernel has two rows, or another has none";
      values_[place] = value;
    }
  }

  /// A default value for a number that is no kind.
  constexpr Value operator[](OpKind kind) const {
    const auto place = static_cast<std::size_t>(kind);
    return place < kKinds ? values_[place] : Value{};
  }

 private:
  std::array<Value, kKinds> values_{};
};

}  // namespace plimsoll
