#pragma once

#include <string_view>

#include "core/base/result.h"
#include "core/model/recipe.h"
#include "sim/stack/stack_setup.h"

namespace plimsoll {

/// Whether gradients, or weights too, would be shared out by Megatron-LM's own FSDP, which is another program than its distributed
/// optimizer and not modelled.
bool takes_megatron_fsdp(const StackSetup& setup);

/// Names what of a model Megatron's layers have otherwise, what was asked that they or their program do not do on a GPU of that compute
/// capability, and degrees that do not divide the model or the step.
Result<void> check_megatron(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, std::string_view capability);

}  // namespace plimsoll
