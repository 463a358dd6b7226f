#pragma once

#include <vector>

#include "core/base/quantity.h"
#include "core/base/result.h"
#include "core/schedule/pipeline_op.h"

namespace plimsoll {

/// A whole number of the parts into which StageCosts cuts the user's unit of time: sums are exact, ties are ties.
using Ticks = Quantity<struct TickUnit>;

/// Times of one micro-batch on one full rank, that is on all its stages, in a unit of the user's choice.
struct RankCosts {
  double forward = 1;
  double input_gradient = 1;
  double weight_gradient = 1;
  double hop = 0;  ///< from a rank to the one with the next stage
};

/// Times of one micro-batch on one stage.
struct StageCost {
  Ticks forward;
  Ticks input_gradient;
  Ticks weight_gradient;
  Ticks hop;  ///< between this stage and the next, either way, when they are on different ranks
};

/// What every op of a pipeline costs.
struct StageCosts {
  std::vector<StageCost> stages;
  double ticks_per_unit = 1;
  double pair_share = 1;  ///< time of an overlapped forward and backward, as a share of the two one after another

  [[nodiscard]] Ticks of(const PipelineOp& op) const;
  /// Time of a forward that is overlapped with the backward `with`.
  [[nodiscard]] Ticks of_pair(const PipelineOp& forward, const PipelineOp& with) const;
  [[nodiscard]] double units(Ticks ticks) const { return static_cast<double>(ticks.count) / ticks_per_unit; }
};

/// How a pipeline is cut: a rank's time is spread over stages ÷ ranks stages.
struct PipelineShape {
  std::uint32_t ranks = 1;
  std::uint32_t stages = 1;
  std::uint32_t micro_batches = 1;
};

/// Every stage takes ranks ÷ stages of `costs`. Refuses times that are negative, above 1e9, or all zero.
Result<StageCosts> even_costs(const RankCosts& costs, const PipelineShape& shape);

/// Stage s takes per_stage[s], whatever the number of ranks.
Result<StageCosts> uneven_costs(const std::vector<RankCosts>& per_stage, const PipelineShape& shape);

}  // namespace plimsoll
