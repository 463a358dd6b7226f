#pragma once

#include "formats/runs/answers.h"
#include "sim/stack/predict_stack.h"

namespace plimsoll {

/// A stack's prediction as `fit` answers it.
FitAnswer stack_answer(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu,
                       const StackPrediction& prediction);

}  // namespace plimsoll
