#pragma once

#include "core/model/model_spec.h"
#include "core/model/recipe.h"
#include "sim/stack/stack_setup.h"
#include "sim/stack/tape/tape.h"

namespace plimsoll {

/// The arenas that llm.c's train_gpt2 reserves before its first step; nothing is allocated afterwards.
struct LlmcArenas {
  Bytes parameters;
  Bytes gradients;
  Bytes optimizer;    ///< fp32 master copy and both moments; shared out over the ranks by ZeRO-1
  Bytes activations;

  [[nodiscard]] Bytes total() const { return parameters + gradients + optimizer + activations; }
};

/// Sizes by its own tables of tensors. Recomputation: none is its -r 0, selective (GELU) -r 1, full (GELU and LayerNorm) -r 2.
LlmcArenas llmc_arenas(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup);

/// One optimizer step's kernels.
void launch_llmc_step(Tape& tape, const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup);

}  // namespace plimsoll
