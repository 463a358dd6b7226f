#pragma once

#include <cmath>
#include <cstdint>

// Elementary functions that a compiler can vectorise: no branch, no table, no call. Included only by loops_variant.cpp,
// in whose unnamed namespace they are, so that code for one instruction set is never linked into another's.
namespace plimsoll {
namespace {

/// What exp needs to know of a type: its exponent field, and the arguments between which 2ⁿ stays a normal number.
template <typename T>
struct ExpConstants;

template <>
struct ExpConstants<float> {
  using Bits = std::uint32_t;
  static constexpr int kMantissa = 23;
  static constexpr Bits kBias = 127;
  static constexpr float kLow = -87.0F, kHigh = 88.0F;
  static constexpr float kRound =
      12582912.0F;  // 1.5 · 2²³: adding it rounds to an integer, which the low bits then hold
  static constexpr float kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;
  static constexpr int kDegree = 7;
};

template <>
struct ExpConstants<double> {
  using Bits = std::uint64_t;
  static constexpr int kMantissa = 52;
  static constexpr Bits kBias = 1023;
  static constexpr double kLow = -708.0, kHigh = 709.0;
  static constexpr double kRound = 6755399441055744.0;
  static constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
  static constexpr int kDegree = 13;
};

template <typename T>
constexpr T inverse_factorial(int k) {
  return k == 0 ? T(1) : inverse_factorial<T>(k - 1) / static_cast<T>(k);
}

/// The terms k, k + 1, … of the Taylor series of eʳ, divided by rᵏ.
template <typename T, int k>
inline T exp_series(T r) {
  constexpr T kTerm = inverse_factorial<T>(k);
  if constexpr (k == ExpConstants<T>::kDegree) {
    return kTerm;
  } else {
    return kTerm + r * exp_series<T, k + 1>(r);
  }
}

/// eˣ by the Taylor polynomial of 2ⁿ·eʳ, |r| ≤ ln 2 / 2: within 2 units in the last place between kLow and kHigh, where
/// arguments are cut off. A NaN stays one.
template <typename T>
inline T exponential(T x) {
  using C = ExpConstants<T>;
  x = x < C::kLow ? C::kLow : x;
  x = x > C::kHigh ? C::kHigh : x;
  const T shifted = x * static_cast<T>(1.4426950408889634074) + C::kRound;
  const T n = shifted - C::kRound;
  const T r = (x - n * C::kLn2High) - n * C::kLn2Low;
  const T sum = exp_series<T, 0>(r);
  const auto bits = (__builtin_bit_cast(typename C::Bits, shifted) + C::kBias) << C::kMantissa;
  return sum * __builtin_bit_cast(T, bits);
}

template <typename T>
inline T sigmoid(T x) {
  return 1 / (1 + exponential(-x));
}

/// Distribution function of the standard normal. float: Abramowitz and Stegun 7.1.26, absolute error below 2e-7.
inline float normal_cdf(float x) {
  const float z = (x < 0 ? -x : x) * 0.70710678F;
  const float t = 1 / (1 + 0.3275911F * z);
  const float p =
      t * (0.254829592F + t * (-0.284496736F + t * (1.421413741F + t * (-1.453152027F + t * 1.061405429F))));
  const float tail = 0.5F * p * exponential(-z * z);
  return x < 0 ? tail : 1 - tail;
}

inline double normal_cdf(double x) { return 0.5 * std::erfc(-x * 0.70710678118654752440); }

}  // namespace
}  // namespace plimsoll
