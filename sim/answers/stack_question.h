#pragma once

#include "sim/answers/question.h"
#include "sim/stack/predict_stack.h"

namespace plimsoll {

/// The answer of another program, by its rules.
Result<FitAnswer> answer_for_stack(const Question& question, StackDetail detail = StackDetail::kAll);

}  // namespace plimsoll
