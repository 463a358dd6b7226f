#pragma once

#include <string_view>

#include "sim/stack/megatron/megatron_stage.h"
#include "sim/stack/training_steps.h"

namespace plimsoll {

/// One pass of a stage's schedule: a chunk of layers, forward or backward.
struct StagePass {
  bool backward = false;
  std::int64_t chunk = 0;

  bool operator==(const StagePass&) const = default;
};

/// Megatron-LM's order on one stage: one forward, one backward, interleaved where a stage has several chunks (Narayanan et al.
/// 2021): warm-up of (stages − stage − 1) micro-batches, or 2 (stages − stage − 1) + (chunks − 1) · stages passes.
std::vector<StagePass> stage_passes(std::int64_t stage, std::int64_t stages, std::int64_t chunks, std::int64_t micro_batches);

/// Trains one stage of the model on the tape.
StepMarks run_megatron_steps(Tape& tape, const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, std::int64_t stage,
                             std::string_view capability);

}  // namespace plimsoll
