#pragma once

#include <array>

namespace plimsoll {

/// The numbers that 8-bit codes stand for, ascending, and the midpoints between neighbours: a number has the code of the
/// nearest value.
struct QuantizedMap {
  std::array<float, 256> values{};
  std::array<float, 255> bounds{};
};

/// Dynamic tree quantization (Dettmers et al. 2022, section 1.3): leading zero bits choose a power of ten, the bits behind
/// the first one set a fraction of it. `is_signed` spends a bit on the sign (first moments); without it the fraction has one
/// more (second moments, section 2.2).
const QuantizedMap& quantized_map(bool is_signed);

}  // namespace plimsoll
