#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/expand.h"
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

/// How often a step is not the usual one; that is not the simulator's to know.
struct StepOdds {
  double clips = 1;  ///< updates in the backward pass are redone; 1 assumes the worst
  double skips = 0;  ///< the gradients are not finite (fp16), and nothing is updated
};

/// The chance that a step of the plan finds its guards' flags set.
double guard_probability(const Plan& plan, const StepOdds& odds);

/// Steps that find a guard's flag set do more.
struct GuardedSteps {
  double probability = 1;  ///< that a step does
  Nanoseconds skipped;     ///< the steady step when none does
  Nanoseconds run;         ///< the steady step when every one does
};

/// What the simulator says of a plan: the steady step with its interval, its parts, and what limits it.
struct Prediction {
  Trace trace;                    ///< of the median costs; of a plan with guards, of the steps of which there are more
  Nanoseconds step;               ///< the steady one; of a plan with guards, the mean
  Nanoseconds low;                ///< with every cost at its low end
  Nanoseconds high;               ///< with every cost at its high end
  StepBreakdown breakdown;
  std::vector<QueueLoad> queues;  ///< busiest first
  CostOrigin origin = CostOrigin::kMeasured;  ///< the weakest origin among the costs that the plan uses
  std::optional<GuardedSteps> guarded;        ///< of a plan that redoes updates
};

/// The steady step at median costs, and the queue that works through most of it.
struct StepLimit {
  Nanoseconds step;
  QueueLoad busiest;
};

/// The short form of a prediction, for plans that are told of beside another, of a step that is not folded into a body.
Result<StepLimit> step_limit(const Plan& plan, const FlatBody& step, const CostModel& costs, const StepOdds& odds = {});

/// Simulates the "step" body of a plan until it is steady, at median, low and high costs.
Result<Prediction> predict(const Plan& plan, const CostModel& costs, const StepOdds& odds = {});

/// The steady step of the plan at median costs (the mean, of a plan with guards), without its trace.
Result<Nanoseconds> predict_step(const Plan& plan, const CostModel& costs, const StepOdds& odds = {});
/// The same of a plan whose step is not folded into a body yet (LowerOptions::flat_step).
Result<Nanoseconds> predict_step(const Plan& plan, const FlatBody& step, const CostModel& costs, const StepOdds& odds = {});

}  // namespace plimsoll
