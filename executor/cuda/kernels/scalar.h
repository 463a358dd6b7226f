#pragma once

#include <bit>
#include <cstdint>

#include "executor/cuda/kernels/block.h"
#include "executor/kernels/half_types.h"

// Elements as they are stored and as they are computed with. The bits are those of the CPU backend's conversions.
namespace plimsoll::cuda {

PLIMSOLL_DEVICE inline float wide(float x) { return x; }
PLIMSOLL_DEVICE inline float wide(Bf16 x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }

PLIMSOLL_DEVICE inline void put(float& place, float value) { place = value; }

/// To nearest, ties to even; a NaN stays one.
PLIMSOLL_DEVICE inline void put(Bf16& place, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const std::uint32_t quiet = (bits >> 16) | 0x40U;
  place.bits = static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? quiet : rounded);
}

}  // namespace plimsoll::cuda
