#pragma once

#include <vector>

#include "core/schedule/pipeline_schedule.h"
#include "sim/parallel/predict_parallel.h"
#include "sim/schedule/stage_costs.h"

namespace plimsoll {

/// What a stage of the pipeline takes: its pieces put together, with what ZeRO adds to every micro-batch.
struct StageCostParts {
  std::int64_t layers = 0;
  PieceCost cost;
  double shard_forward = 0;   ///< seconds that ZeRO-3's gathers add to a forward pass
  double shard_backward = 0;  ///< and, with what ZeRO-2 and 3 scatter, to a backward pass

  [[nodiscard]] double forward() const { return cost.forward_seconds() + shard_forward + cost.exchange_forward; }
  [[nodiscard]] double input_gradient() const {
    return cost.input_gradient + cost.backward_sends + shard_backward + cost.exchange_backward;
  }
};

/// Every stage of the schedule, first to last.
std::vector<StageCostParts> stage_parts(const ParallelQuestion& question, const StagePieces& pieces,
                                        std::uint32_t stages);

/// The stages as the schedule's timing reads them; `slow` is each stage's factor.
std::vector<RankCosts> rank_costs(const ParallelQuestion& question, const std::vector<StageCostParts>& parts,
                                  const std::vector<double>& slow);

/// Ranks whose stages each rank of the pipeline has: stage → rank (of its first micro-batch), and stages a rank.
std::vector<std::vector<std::uint32_t>> stages_of_ranks(const PipelineSchedule& schedule);

}  // namespace plimsoll
