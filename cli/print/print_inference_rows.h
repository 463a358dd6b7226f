#pragma once

#include <vector>

#include "sim/validation/judge_inference.h"

namespace plimsoll {

/// Published rates of inference beside their predictions, as lines for a person, as JSON or as CSV.
void print_inference_rows(const std::vector<InferenceOutcome>& outcomes, bool json, bool csv);

}  // namespace plimsoll
