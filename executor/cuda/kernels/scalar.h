#pragma once

#include <bit>
#include <cstdint>

#include "executor/cuda/kernels/block.h"
#include "executor/kernels/half_types.h"

// Elements as they are stored and as they are computed with. The bits are those of the CPU backend's conversions.
namespace plimsoll::cuda {

PLIMSOLL_DEVICE inline float wide(float x) { return x; }
PLIMSOLL_DEVICE inline float wide(Bf16 x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }

/// An exponent and fraction moved to fp32's places read as the value times 2^-112, subnormal numbers included.
PLIMSOLL_DEVICE inline float wide(Fp16 x) {
  const std::uint32_t magnitude = (x.bits & 0x7fffU) << 13, sign = (x.bits & 0x8000U) << 16;
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112F;
  return std::bit_cast<float>(sign | (magnitude >= 0x0f800000U ? magnitude | 0x7f800000U : std::bit_cast<std::uint32_t>(scaled)));
}

PLIMSOLL_DEVICE inline void put(float& place, float value) { place = value; }

/// To nearest, ties to even; a NaN stays one.
PLIMSOLL_DEVICE inline void put(Bf16& place, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const std::uint32_t quiet = (bits >> 16) | 0x40U;
  place.bits = static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? quiet : rounded);
}

/// To nearest, ties to even, subnormal numbers included; beyond 65520 infinity, and a NaN stays one. Below 2^-14 adding 0.5
/// leaves the rounded fraction in the lowest bits.
PLIMSOLL_DEVICE inline void put(Fp16& place, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t normal = (magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000U;
  const std::uint32_t beyond = magnitude > 0x7f800000U ? 0x7e00U | ((magnitude >> 13) & 0x3ffU) : 0x7c00U;
  const std::uint32_t below = magnitude < 0x38800000U ? subnormal : normal;
  place.bits = static_cast<std::uint16_t>(((bits >> 16) & 0x8000U) | (magnitude >= 0x47800000U ? beyond : below));
}

}  // namespace plimsoll::cuda
