#pragma once

#include "formats/runs/answers.h"
#include "sim/stack/predict_stack.h"

namespace plimsoll {

/// What is trained.
struct StackSubject {
  std::string name;
  std::int64_t parameters = 0;
  std::int64_t active_parameters = 0;  ///< through which one token passes
};

/// A stack's prediction as `fit` answers it.
FitAnswer stack_answer(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu,
                       const StackPrediction& prediction);
FitAnswer stack_answer(StackSubject subject, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu,
                       const StackPrediction& prediction);

}  // namespace plimsoll
