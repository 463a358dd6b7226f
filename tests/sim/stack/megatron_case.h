#pragma once

#include "core/model/recipe.h"
#include "sim/stack/stack_setup.h"

namespace plimsoll {

/// As Megatron-LM's functional tests train: bf16 beside fp32 states.
inline Recipe megatron_recipe(std::int64_t batch, std::int64_t sequence, std::int64_t accumulate = 8) {
  Recipe recipe;
  recipe.micro_batch = batch;
  recipe.accumulate = accumulate;
  recipe.sequence = sequence;
  recipe.precision = Precision::kBf16Mixed;
  return recipe;
}

/// Megatron-LM's own layers and optimizer, deterministic as its functional tests are; of the last stage.
inline StackSetup megatron_setup(AttentionKernel attention, std::int64_t tensor_ranks = 1, std::int64_t stages = 1) {
  StackSetup setup;
  setup.stack = Stack::kMegatron;
  setup.modules = ModuleStyle::kMegatron;
  setup.attention = attention;
  setup.loop = OptimizerLoop::kFused;
  setup.tensor_ranks = tensor_ranks;
  setup.stages = stages;
  setup.stage = stages - 1;
  setup.deterministic = true;
  return setup;
}

}  // namespace plimsoll
