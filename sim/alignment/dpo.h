#pragma once

#include "core/model/recipe.h"
#include "sim/alignment/alignment_answer.h"

namespace plimsoll {

/// One step of direct preference optimization (Rafailov et al. 2023): the frozen reference runs forward over the chosen and the
/// rejected answer of every pair, the policy forward and backward over both. `recipe.micro_batch` counts pairs. The reference's
/// weights are on the device or streamed from host memory, whichever is faster and fits; with adapters it is the policy's own
/// base and takes nothing.
Result<AlignmentAnswer> answer_dpo(const ModelSpec& spec, const Recipe& recipe, const Platform& platform, const CostModel& costs);

}  // namespace plimsoll
