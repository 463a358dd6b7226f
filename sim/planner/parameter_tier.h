#pragma once

#include "core/base/result.h"
#include "core/model/parameters.h"
#include "core/model/recipe.h"
#include "core/plan/strategy.h"

namespace plimsoll {

/// Where the weights of a group live between their uses. Adapters beside a frozen model stay on the device when it updates
/// them, and are streamed as the frozen weights are when something else does.
Tier parameter_tier(const Strategy& strategy, const Recipe& recipe, const ParameterGroup& group);

/// Whether what is updated is where the strategy's optimizer can reach it. Frozen weights may lie anywhere.
Result<void> check_tiers(const Strategy& strategy, const Recipe& recipe);

}  // namespace plimsoll
