#pragma once

#include <cstdint>

namespace plimsoll {

/// What SplitMix64 adds to its state for every word.
inline constexpr std::uint64_t kSplitMixStep = 0x9e3779b97f4a7c15u;

/// The next word of SplitMix64 (Steele, Lea, Flood 2014) after the state x: a bijection of 64-bit words that passes BigCrush over
/// a counter.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x += kSplitMixStep;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace plimsoll
