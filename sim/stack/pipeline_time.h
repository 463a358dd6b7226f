#pragma once

#include "core/model/recipe.h"
#include "sim/stack/predict_stack.h"

namespace plimsoll {

/// A step of a pipeline whose ends take `first` and `last` of their own work; the stages between them take as long as the first.
/// The slowest stage works through all micro-batches, and waits for one of them to pass the others, there and back, once for all chunks
/// of a stage (1F1B: Narayanan et al. 2021, section 2.2, for stages that are not alike). Phases are the slowest stage's; arithmetic is
/// the mean over the stages.
StackTime pipeline_time(const StackTime& first, const StackTime& last, const Recipe& recipe, const StackSetup& setup);

}  // namespace plimsoll
