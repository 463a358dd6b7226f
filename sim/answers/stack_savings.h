#pragma once

#include <vector>

#include "sim/answers/question.h"

namespace plimsoll {

/// Of another program's training that does not fit, as `answer` says: what would, with the same losses but for rounding. Every block
/// recomputed, logits that are never whole, half the batch (and half of that) with more accumulation, two or all of them where none is
/// enough; and a plan of plimsoll's own,
/// searched with `instruction_budget` of instructions. Empty where none of them fits. What weights and states alone rule out is not
/// simulated; of mixtures of hundreds of experts, which take seconds each, recomputation alone is.
std::vector<ChangeAnswer> stack_savings(const Question& question, const FitAnswer& answer, std::size_t instruction_budget);

/// Of such a training, the fewest GPUs of its kind, in one node, with which it fits under FSDP or ZeRO, with every block recomputed where
/// that must be and does not do by itself (`answer.smaller`, where stack_savings was put there). Each has as many sequences as before.
std::vector<ChangeAnswer> stack_growth(const Question& question, const FitAnswer& answer);

}  // namespace plimsoll
