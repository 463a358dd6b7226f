#pragma once

#include <cstddef>

#include "core/model/model_spec.h"
#include "core/model/recipe.h"
#include "sim/stack/modules/module_rules.h"
#include "sim/stack/stack_setup.h"
#include "sim/stack/tape/tape.h"

namespace plimsoll {

/// Optimizer steps that are simulated: the first creates states, the third is as all that follow.
inline constexpr std::int64_t kSimulatedSteps = 3;

/// Events of the log after the model was made and after the first step.
struct StepMarks {
  std::size_t model = 0;
  std::size_t first_step = 0;
  std::size_t last_step = 0;  ///< what comes after it is the end of the program
  Bytes host;   ///< what the rank keeps in host memory, beside the program itself
  Bytes drive;
};

/// Makes the model on the tape and trains it; the tape's kernels are those of the last step.
StepMarks run_training_steps(Tape& tape, const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const ModuleRules& rules);

}  // namespace plimsoll
