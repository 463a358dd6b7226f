#pragma once

#include "core/model/recipe.h"
#include "sim/alignment/alignment_answer.h"

namespace plimsoll {

/// A step of reinforcement learning from a reward model by proximal policy optimization (Ouyang et al. 2022).
struct PpoTask {
  ModelSpec actor;
  ModelSpec critic;  ///< a value a token: its head counts as the actor's
  ModelSpec reward;
  Recipe recipe;  ///< micro-batches of whole sequences; of both trained models
  std::int64_t prompt = 256;
  std::int64_t new_tokens = 256;
  std::int64_t epochs = 1;  ///< times that both learn from what was generated
};

/// Four models are resident: actor and critic with what their plans keep, reference (a copy of the actor; with adapters its own
/// base) and reward model with their weights, on the device or in host memory, whichever is faster and fits. The phases: the
/// actor generates; reference, reward model, actor and critic score; actor and critic train. The two trained models
/// are planned together: each has what the frozen ones and what rests of the other leave (plan_together).
Result<AlignmentAnswer> answer_ppo(const PpoTask& task, const Platform& platform, const CostModel& costs);

}  // namespace plimsoll
