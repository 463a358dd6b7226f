#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/plan/expand.h"
#include "core/plan/plan.h"
#include "sim/cost/cost_model.h"
#include "sim/planner/predict.h"

namespace plimsoll {

/// Floors that no plan passes.
struct LowerBound {
  Nanoseconds step;  ///< forward and backward kernels of one step without any recomputation, one after another; or what
                     ///< must be moved and updated, if that takes longer (placement_bound)
  Bytes device;      ///< of this plan's instruction order: what lives together on the device at the fullest moment
};

/// The floors for `plan`. `step` holds for every plan of its model and recipe on its platform.
Result<LowerBound> lower_bound(const Plan& plan, const CostModel& costs, const StepOdds& odds = {});

/// Nanoseconds that each queue works on a step's instructions, then each resource at its full rate; what a guard may skip left out.
Result<std::vector<double>> queue_loads(const Plan& plan, const FlatBody& step, const CostModel& costs);

/// What the busiest queue works through in every step, or the busiest shared resource: no step of these instructions takes
/// less, wherever their buffers lie. What a guard may skip does not count.
Result<Nanoseconds> queue_bound(const Plan& plan, const FlatBody& step, const CostModel& costs);

}  // namespace plimsoll
