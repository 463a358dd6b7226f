#pragma once

#include <cstdint>

namespace plimsoll {

/// An element stored as bfloat16: the upper half of an fp32.
struct Bf16 {
  std::uint16_t bits = 0;
};

/// An element stored as an IEEE half.
struct Fp16 {
  std::uint16_t bits = 0;
};

}  // namespace plimsoll
