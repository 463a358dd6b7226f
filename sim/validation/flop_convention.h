#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/result.h"
#include "core/model/model_spec.h"

namespace plimsoll {

/// What a source counts when it prints TFLOP/s or a share of a GPU's peak.
enum class FlopConvention : std::uint8_t {
  kModelFull,     ///< 6N + 12·L·h·s a token: every token attends to all
  kModelCausal,   ///< 6N + 6·L·h·s: to those before it
  kModel,         ///< 6N alone
  kHardwareFull,  ///< 8N + 16·L·h·s: the forward pass twice
  kHardware,      ///< 8N alone
  kMegatron,      ///< 72·L·h²·(1 + s/6h + V/12hL) a token (Narayanan et al. 2021), once forward, no recomputation
};

/// FLOPs of so many tokens of a model with `parameters` by the convention.
double convention_flops(FlopConvention convention, const ModelSpec& spec, double parameters, std::int64_t sequence,
                        double tokens);

/// "6N+12Lhs", "6N+6Lhs", "6N", "8N+16Lhs", "8N", "megatron".
Result<FlopConvention> parse_flop_convention(std::string_view text);

}  // namespace plimsoll
