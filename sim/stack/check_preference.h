#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/model_spec.h"
#include "core/model/recipe.h"
#include "sim/stack/stack_setup.h"

namespace plimsoll {

/// Refuses, by name, trainings on preferences that TRL has not or that are not modelled.
Result<void> check_preference(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup);

/// What was taken for granted of such a training; nothing of any other.
std::vector<std::string> preference_assumptions(const Recipe& recipe, const StackSetup& setup);

}  // namespace plimsoll
