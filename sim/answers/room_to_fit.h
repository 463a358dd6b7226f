#pragma once

#include <vector>

#include "sim/answers/question.h"

namespace plimsoll {

/// What could be added to the machine of a training that does not fit, each alone: the least RAM of the sizes that are sold with
/// which a plan is found, and a drive, or a larger one, with the room that its plan takes there. Searched as answer_question
/// searches; with less than its budget what is told is an upper bound. Nothing for other programs, and for machines that are known
/// as a whole only.
std::vector<ChangeAnswer> room_to_fit(const Question& question, std::size_t instruction_budget = kInstructionBudget,
                                      const std::shared_ptr<KnownPackings>& packings = {});

/// Beside an answer, which is not to wait three times as long for being a "no".
inline constexpr std::size_t kRoomBudget = kInstructionBudget / 4;

}  // namespace plimsoll
