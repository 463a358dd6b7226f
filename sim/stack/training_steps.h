#pragma once

#include "core/model/model_spec.h"
#include "core/model/recipe.h"
#include "sim/stack/modules/module_rules.h"
#include "sim/stack/stack_model_maker.h"
#include "sim/stack/stack_setup.h"
#include "sim/stack/step_marks.h"
#include "sim/stack/tape/tape.h"

namespace plimsoll {

/// Optimizer steps that are simulated: the first creates states, the third is as all that follow.
inline constexpr std::int64_t kSimulatedSteps = 3;
/// Micro-batches that are drawn where sequences vary in length, before a last step of the longest; twice and four times as many
/// reserve no more.
inline constexpr std::int64_t kVaryingMicroBatches = 64;

/// Steps of drawn lengths; the last step comes after them.
std::int64_t steps_of_drawn_lengths(const Recipe& recipe);

/// Makes any model on the tape and trains it.
StepMarks run_training_steps(Tape& tape, const StackModelMaker& make, const Recipe& recipe, const StackSetup& setup);

/// Makes the model on the tape and trains it; the tape's kernels are those of the last step.
StepMarks run_training_steps(Tape& tape, const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const ModuleRules& rules);

}  // namespace plimsoll
