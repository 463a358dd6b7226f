#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"

namespace plimsoll {

/// How the next token is chosen from the logits. Applied in this order.
struct SamplingOptions {
  double repetition_penalty = 1;  ///< divides positive logits of tokens that occurred, multiplies negative ones (Keskar et al. 2019)
  double temperature = 0.8;       ///< 0: the most probable token, whatever follows here
  std::int64_t top_k = 40;        ///< only the k most probable ones; 0: all
  double top_p = 0.95;            ///< of those the fewest whose probabilities reach p (Holtzman et al. 2020, nucleus); 1: all
  std::uint64_t seed = 1;
};

/// Refuses what is out of range, by name.
Result<void> validate(const SamplingOptions& options);

/// The token that follows `seen`: the same arguments always give the same one. Logits must not be NaN; of equal ones the
/// smaller token comes first.
std::int32_t sample(std::span<const float> logits, std::span<const std::int32_t> seen, const SamplingOptions& options);

}  // namespace plimsoll
