#pragma once

#include "sim/stack/predict_stack.h"

namespace plimsoll {

/// What `validate` holds a row against: predict_stack, or, of the stack `plimsoll`, the plan that our planner finds with the
/// setup's strategy on that GPU beside the setup's host memory. Forward and backward then stand for what each further
/// micro-batch adds to the step.
Result<StackPrediction> predict_row(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu);

}  // namespace plimsoll
