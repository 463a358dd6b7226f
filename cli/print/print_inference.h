#pragma once

#include <string>

#include "sim/inference/inference_answer.h"

namespace plimsoll {

/// The verdict, the policy in words, times, memory, what limits it and other policies, as lines for a person.
std::string inference_text(const InferenceAnswer& answer, const std::string& machine);

/// The same as JSON; keys are added, never renamed.
std::string inference_json(const InferenceAnswer& answer);

/// The policies as a table, the one that was taken first.
std::string inference_csv(const InferenceAnswer& answer);

}  // namespace plimsoll
