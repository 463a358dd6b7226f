#pragma once

#include <cmath>
#include <cstdint>

#include "core/base/mix64.h"

// Standard normal numbers in arithmetic that rounds the same whatever it is compiled for, and that a compiler can vectorise: no branch, no
// table, no call, nothing contracted. Included by counter_random.cpp and normal_loops_variant.cpp, in whose unnamed namespace it
// is, so that code for one instruction set is never linked into another's.
namespace plimsoll {
namespace {

constexpr double kRound = 0x1.8p52;  ///< added and taken away again, it leaves a whole number

/// Exactly what a whole number below 2⁵² is as a real one.
inline double real_of(std::uint64_t whole) { return __builtin_bit_cast(double, whole | 0x4330000000000000u) - 0x1p52; }

/// The word's upper 53 bits in [0, 1), as to_unit has them.
inline double unit_of(std::uint64_t word) { return real_of(word >> 32) * 0x1p-32 + real_of((word >> 11) & 0x1fffff) * 0x1p-53; }

/// ln u for a normal u > 0: u = 2ᵏ · m with m in [√½, √2), and ln m = 2 artanh((m − 1) ÷ (m + 1)), whose series ends where it is
/// below a rounding.
inline double logarithm(double u) {
  constexpr std::uint64_t kRootHalf = 0x3fe6a09e667f3bcdu, kFraction = 0x000fffffffffffffu;
  const std::uint64_t shifted = __builtin_bit_cast(std::uint64_t, u) - kRootHalf;
  // The arithmetic shift is made of a logical one, which every instruction set has: k + 2048 is never negative.
  const double k = real_of((shifted + (std::uint64_t{2048} << 52)) >> 52) - 2048.0;
  const double power_free = __builtin_bit_cast(double, (shifted & kFraction) + kRootHalf);
  const double s = (power_free - 1.0) / (power_free + 1.0), z = s * s;
  double sum = 1.0 / 21;
  sum = sum * z + 1.0 / 19;
  sum = sum * z + 1.0 / 17;
  sum = sum * z + 1.0 / 15;
  sum = sum * z + 1.0 / 13;
  sum = sum * z + 1.0 / 11;
  sum = sum * z + 1.0 / 9;
  sum = sum * z + 1.0 / 7;
  sum = sum * z + 1.0 / 5;
  sum = sum * z + 1.0 / 3;
  return k * 0x1.62e42fefa39efp-1 + 2.0 * (s + s * z * sum);
}

/// cos 2πv for v in [0, 1): v is the nearest quarter and a rest of at most an eighth, of which both series of Taylor are summed.
inline double cosine_of_turns(double v) {
  const double shifted = 4.0 * v + kRound;
  const std::uint64_t quarter = __builtin_bit_cast(std::uint64_t, shifted);
  const double x = (4.0 * v - (shifted - kRound)) * 0x1.921fb54442d18p0, z = x * x;
  double even = 1.0 / 6402373705728000;  // 18!
  even = 1.0 / 20922789888000 - even * z;
  even = 1.0 / 87178291200 - even * z;
  even = 1.0 / 479001600 - even * z;
  even = 1.0 / 3628800 - even * z;
  even = 1.0 / 40320 - even * z;
  even = 1.0 / 720 - even * z;
  even = 1.0 / 24 - even * z;
  even = 1.0 / 2 - even * z;
  const double cosine = 1.0 - even * z;
  double odd = 1.0 / 355687428096000;  // 17!
  odd = 1.0 / 1307674368000 - odd * z;
  odd = 1.0 / 6227020800 - odd * z;
  odd = 1.0 / 39916800 - odd * z;
  odd = 1.0 / 362880 - odd * z;
  odd = 1.0 / 5040 - odd * z;
  odd = 1.0 / 120 - odd * z;
  odd = 1.0 / 6 - odd * z;
  const double sine = x - x * z * odd;
  const std::uint64_t takes_sine = ~((quarter & 1) - 1);  // all bits or none
  const std::uint64_t chosen = (__builtin_bit_cast(std::uint64_t, sine) & takes_sine) | (__builtin_bit_cast(std::uint64_t, cosine) & ~takes_sine);
  return __builtin_bit_cast(double, chosen ^ (((quarter + 1) & 2) << 62));
}

/// By Box and Muller (1958) from the two words of a place.
inline double number_at(std::uint64_t key, std::uint64_t place) {
  const double first = unit_of(mix64(key ^ mix64(2 * place))), second = unit_of(mix64(key ^ mix64(2 * place + 1)));
  return std::sqrt(-2.0 * logarithm(1.0 - first)) * cosine_of_turns(second);
}

}  // namespace
}  // namespace plimsoll
