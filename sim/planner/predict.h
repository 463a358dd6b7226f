#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/trace/summarize.h"
#include "sim/cost/cost_model.h"

namespace plimsoll {

/// Steps that a prediction simulates; the last but one is the steady state.
inline constexpr std::uint32_t kPredictedSteps = 4;

/// The fraction of the steady step in which a queue works on something.
struct QueueLoad {
  QueueId queue;
  double busy_fraction = 0;
};

/// What the simulator says of a plan: the steady step with its interval, its parts, and what limits it.
struct Prediction {
  Trace trace;                    ///< of the median costs
  Nanoseconds step;               ///< the steady one
  Nanoseconds low;                ///< with every cost at its low end
  Nanoseconds high;               ///< with every cost at its high end
  StepBreakdown breakdown;
  std::vector<QueueLoad> queues;  ///< busiest first
  CostOrigin origin = CostOrigin::kMeasured;  ///< the weakest origin among the costs that the plan uses
};

/// The steady step at median costs, and the queue that works through most of it.
struct StepLimit {
  Nanoseconds step;
  QueueLoad busiest;
};

/// The short form of a prediction, for plans that are told of beside another.
Result<StepLimit> step_limit(const Plan& plan, const CostModel& costs);

/// Simulates the "step" body of a plan until it is steady, at median, low and high costs.
Result<Prediction> predict(const Plan& plan, const CostModel& costs);

}  // namespace plimsoll
