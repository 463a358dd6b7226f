#pragma once

#include <string>

#include "core/base/result.h"
#include "core/trace/trace.h"
#include "executor/executor.h"
#include "sim/cost/cost_model.h"
#include "sim/planner/migrate_plan.h"

namespace plimsoll {

/// A migration that is planned and timed in advance.
struct PlanChange {
  Migration migration;
  Trace predicted;  ///< without events when nothing moves

  [[nodiscard]] Nanoseconds predicted_time() const {
    return predicted.steps.empty() ? Nanoseconds(0) : predicted.steps.back().end;
  }
};

/// What became of it.
struct ChangedPlan {
  Bytes moved;
  std::int64_t after_steps = 0;
  Nanoseconds predicted;
  Nanoseconds measured;
};

/// Plans the way from `old` after `steps_done` steps to `next`, and times it under `costs`.
Result<PlanChange> plan_change(const Plan& old, const Plan& next, std::int64_t steps_done, const CostModel& costs);

/// "moved 1.20 GiB to the layout of the chosen plan after 4 steps: predicted 412 ms, measured 430 ms".
std::string to_text(const ChangedPlan& changed);

}  // namespace plimsoll
