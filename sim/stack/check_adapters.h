#pragma once

#include "core/base/result.h"
#include "core/model/model_spec.h"
#include "core/model/recipe.h"
#include "sim/stack/stack_setup.h"

namespace plimsoll {

/// Whether the frozen matrices are kept in 4 or 8 bits.
bool is_encoded(const AdapterSpec& adapter);

/// Refuses what PEFT cannot train so, and what of it is not modelled, by name.
Result<void> check_adapters(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup);

}  // namespace plimsoll
