#pragma once

#include "core/model/recipe.h"
#include "sim/stack/predict_stack.h"

namespace plimsoll {

/// What stages of a pipeline take of their own work: its ends, and each of those between them, which send to both sides and, where layers do
/// not divide, have more of them.
struct PipelineStages {
  StackTime first;
  StackTime between;  ///< counts for nothing where there are two stages
  StackTime last;

  /// Of which the pipeline's step is: 0 the first, 1 one between, 2 the last.
  [[nodiscard]] int slowest(std::int64_t stages) const;
};

/// A step of a pipeline. The slowest stage works through all micro-batches, and waits for one of them to pass the others, there and back, once for all chunks
/// of a stage (1F1B: Narayanan et al. 2021, section 2.2, for stages that are not alike). Phases are the slowest stage's; arithmetic is
/// the mean over the stages.
StackTime pipeline_time(const PipelineStages& pipeline, const Recipe& recipe, const StackSetup& setup);

}  // namespace plimsoll
