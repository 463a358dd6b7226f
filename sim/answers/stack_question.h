#pragma once

#include "sim/answers/question.h"
#include "sim/stack/predict_stack.h"

namespace plimsoll {

/// The answer of another program, by its rules.
Result<FitAnswer> answer_for_stack(const Question& question, StackDetail detail = StackDetail::kAll);

/// Whether a plan of ours could train what another program was asked for: ours have one GPU, adapters of LoRA alone, and learn from texts.
bool could_be_ours(const Question& question);

}  // namespace plimsoll
