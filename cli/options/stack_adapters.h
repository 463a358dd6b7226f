#pragma once

#include "cli/options/stack_flags.h"
#include "cli/options/training_flags.h"

namespace plimsoll {

/// What flags of adapters mean where another program than ours trains: dropout goes from `training`, whose own plans have none,
/// to `setup`, and options that would be ignored are refused.
Result<void> take_stack_adapters(const StackFlags& flags, TrainingFlags& training, StackSetup& setup);

}  // namespace plimsoll
