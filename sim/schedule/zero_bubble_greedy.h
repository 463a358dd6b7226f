#pragma once

#include "core/schedule/pipeline_schedule.h"
#include "sim/schedule/stage_costs.h"

namespace plimsoll {

/// What a rank may hold, in micro-batches: what a forward adds until its input gradient and, of that, until its weight
/// gradient.
struct MemoryRule {
  double cap = 0;
  double kept_for_weights = 1;
};

/// The choices of the greedy construction for which nobody knows the better one beforehand.
struct GreedyChoices {
  bool late_first_gradient = false;  ///< first forwards may go on until the first gradient is there, not beyond
  bool gradient_first = false;       ///< a rank with much ahead of the next one may leave a forward out
  bool fill_small_gaps = false;      ///< a weight gradient goes into a gap too short for it though no rank is worse off
};

/// The orders that the greedy construction of Qi et al. ("Zero bubble pipeline parallelism", 2024) gives for these
/// costs, one stage a rank: forwards as the memory allows, one forward and one input gradient in turn, weight gradients
/// into the gaps. `cap` is at least 1.
std::vector<std::vector<PipelineOp>> zero_bubble_greedy(const StageCosts& costs, std::uint32_t micro_batches,
                                                        const MemoryRule& memory, const GreedyChoices& choices);

}  // namespace plimsoll
