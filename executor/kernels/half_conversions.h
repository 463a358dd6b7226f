#pragma once

#include <cstdint>

#include "executor/kernels/half_types.h"

// Conversions between fp32 and types of two bytes that a compiler can vectorise; formats/models/half_floats.h has the same
// for single values, and a test compares all of them. Included only by loops_variant.cpp and twin_loops_variant.cpp, in whose
// unnamed namespaces they are: see vector_math.h.
namespace plimsoll {
namespace {

inline float widened(Bf16 x) { return __builtin_bit_cast(float, static_cast<std::uint32_t>(x.bits) << 16); }

/// An exponent and fraction moved to fp32's places read as the value times 2^-112, subnormal numbers included.
inline float widened(Fp16 x) {
  const std::uint32_t magnitude = (x.bits & 0x7fffU) << 13;
  const float scaled = __builtin_bit_cast(float, magnitude) * 0x1p112F;
  const std::uint32_t finite = __builtin_bit_cast(std::uint32_t, scaled);
  const std::uint32_t sign = (x.bits & 0x8000U) << 16;
  return __builtin_bit_cast(float, sign | (magnitude >= 0x0f800000U ? magnitude | 0x7f800000U : finite));
}

inline void round_to(float value, Bf16& out) {
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const std::uint32_t quiet = (bits >> 16) | 0x40U;
  out.bits = static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? quiet : rounded);
}

/// Normal numbers round in their bits; the carry of a fraction goes into the exponent, up to infinity. Below 2^-14 adding
/// 0.5 leaves the fraction of a subnormal half, rounded, in the lowest bits.
inline void round_to(float value, Fp16& out) {
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t normal = (magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
  const float shifted = __builtin_bit_cast(float, magnitude) + 0.5F;
  const std::uint32_t subnormal = __builtin_bit_cast(std::uint32_t, shifted) - 0x3f000000U;
  const std::uint32_t beyond = magnitude > 0x7f800000U ? 0x7e00U | ((magnitude >> 13) & 0x3ffU) : 0x7c00U;
  const std::uint32_t below = magnitude < 0x38800000U ? subnormal : normal;
  out.bits = static_cast<std::uint16_t>(((bits >> 16) & 0x8000U) | (magnitude >= 0x47800000U ? beyond : below));
}

template <typename S>
void widen(std::int64_t n, const S* x, float* y) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] = widened(x[i]);
}

template <typename S>
void round(std::int64_t n, const float* x, S* y) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) round_to(x[i], y[i]);
}

}  // namespace
}  // namespace plimsoll
