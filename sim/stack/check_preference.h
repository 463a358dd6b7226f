#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/model_spec.h"
#include "core/model/recipe.h"
#include "formats/machines/gpu_catalogue.h"
#include "sim/stack/stack_setup.h"

namespace plimsoll {

/// Refuses, by name, trainings on preferences that TRL has not or that are not modelled.
Result<void> check_preference(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup);

/// Refuses a share of the GPU in which vLLM's weights do not lie.
Result<void> check_writer(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu);

/// What was taken for granted of such a training; nothing of any other.
std::vector<std::string> preference_assumptions(const Recipe& recipe, const StackSetup& setup);

}  // namespace plimsoll
