#pragma once

#include <cstdint>

#include "core/base/mix64.h"

namespace plimsoll {

/// A random word that depends on nothing but the key and its place, so that order and threads cannot matter.
constexpr std::uint64_t random_at(std::uint64_t key, std::uint64_t place) { return mix64(key ^ mix64(place)); }

/// The word's upper 53 bits as a real number in [0, 1).
constexpr double to_unit(std::uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

/// A word scaled to [0, bound) without division (Lemire 2019); the bias is below bound ÷ 2⁶⁴.
constexpr std::int64_t to_range(std::uint64_t word, std::int64_t bound) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::int64_t>((static_cast<Wide>(word) * static_cast<Wide>(bound)) >> 64);
}

/// A standard normal number by Box and Muller (1958) from two words.
double normal_at(std::uint64_t key, std::uint64_t place);

}  // namespace plimsoll
