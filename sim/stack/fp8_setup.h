#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/result.h"

namespace plimsoll {

/// How the scale of a tensor in 8 bits is found.
enum class Fp8Scaling : std::uint8_t {
  kNone,     ///< products stay in two bytes
  kDelayed,  ///< from the largest values of steps before: a cast is one pass
  kCurrent,  ///< from the tensor's own largest value, which another pass looks for
};

/// Products of blocks' linear layers in 8-bit floating point, as Transformer Engine and torchao do them beside two-byte training.
struct Fp8Setup {
  Fp8Scaling scaling = Fp8Scaling::kNone;
  bool parameters = false;     ///< Megatron's weights of such layers are in 8 bits themselves (--fp8-param-gather)
  std::int64_t wide_ends = 0;  ///< blocks at either end whose products stay in two bytes

  [[nodiscard]] bool exists() const { return scaling != Fp8Scaling::kNone; }
  /// Whether block `index` of so many has its products in 8 bits.
  [[nodiscard]] bool covers(std::int64_t index, std::int64_t blocks) const {
    return exists() && index >= wide_ends && index + wide_ends < blocks;
  }

  bool operator==(const Fp8Setup&) const = default;
};

std::string_view to_text(Fp8Scaling scaling);
Result<Fp8Scaling> parse_fp8_scaling(std::string_view text);

}  // namespace plimsoll
