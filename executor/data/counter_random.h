#pragma once

#include <cstdint>

namespace plimsoll {

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection of 64-bit words that passes BigCrush over a
/// counter.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

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
