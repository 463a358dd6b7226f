#pragma once

#include <cstdint>
#include <limits>

namespace plimsoll {

/// An element of the tokens tensor is a token's id, whose sign bit says that it does not count as a target: the mask of the
/// loss travels with the tokens and costs no byte.
inline constexpr std::int32_t kUncounted = std::numeric_limits<std::int32_t>::min();

constexpr std::int32_t token_id(std::int32_t element) { return element & ~kUncounted; }
constexpr bool counts_as_target(std::int32_t element) { return element >= 0; }

}  // namespace plimsoll
