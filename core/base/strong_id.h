#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace plimsoll {

/// An index into one table, of a type of its own so that a queue can never be taken for a buffer.
template <typename Tag>
struct StrongId {
  static constexpr std::uint32_t kNoneIndex = 0xffffffffu;

  std::uint32_t index = kNoneIndex;

  constexpr StrongId() = default;
  constexpr explicit StrongId(std::uint32_t value) : index(value) {}
  constexpr explicit StrongId(std::size_t value) : index(static_cast<std::uint32_t>(value)) {}
  constexpr explicit StrongId(int value) : index(static_cast<std::uint32_t>(value)) {}

  /// True when the id names an entry; a default-made id names none.
  [[nodiscard]] constexpr bool valid() const { return index != kNoneIndex; }
  constexpr auto operator<=>(const StrongId&) const = default;
};

}  // namespace plimsoll

template <typename Tag>
struct std::hash<plimsoll::StrongId<Tag>> {
  std::size_t operator()(plimsoll::StrongId<Tag> id) const noexcept { return id.index; }
};
