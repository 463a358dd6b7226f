#pragma once

#include <string>

#include "cli/options/stack_flags.h"
#include "cli/options/training_flags.h"
#include "formats/machines/gpu_catalogue.h"

namespace plimsoll {

/// What flags of adapters mean where another program than ours trains: dropout goes from `training`, whose own plans have none,
/// to `setup`, and options that would be ignored are refused.
Result<void> take_stack_adapters(const StackFlags& flags, const ModelSpec& spec, TrainingFlags& training, StackSetup& setup);

/// "dora of rank 16 beside q,v: …", of a setup that is checked: how many parameters are trained.
std::string describe_trained(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu);

}  // namespace plimsoll
