#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/result.h"
#include "core/plan/expand.h"
#include "core/trace/trace.h"
#include "sim/cost/cost_model.h"

namespace plimsoll {

struct SimulateOptions {
  std::uint32_t steps = 3;          ///< bodies laid one after another; the last one is the steady state
  double guard_probability = 1.0;   ///< chance that a flag is set in a step; decided by step and flag, so runs repeat
  bool keep_events = true;          ///< false: only step summaries and arena peaks (for planners, thousands of plans)
  bool ledger = true;               ///< of `keep_events`; false: peaks are those of arenas, nobody asks who holds what
};

/// Runs the plan's body `name` in simulated time under the law of plans. Instructions that share resources (links of one
/// tree, host DRAM, CPU cores) slow each other down by max-min fair shares (fair_share.h, work_table.h). Same input, same
/// trace, to the nanosecond. The plan's indices must be in range (check_indices says so for plans from files).
/// `plan_digest` is left to the caller, who may simulate thousands of plans without needing it. Fails when a cost is
/// unknown (kUncalibrated, by name) or the plan cannot run (kDefect: a copy without a link, a cycle).
Result<Trace> simulate(const Plan& plan, std::string_view name, const CostModel& costs,
                       const SimulateOptions& options = {});
/// The same of a body that is written out; the plan may have no bodies.
Result<Trace> simulate(const Plan& plan, const FlatBody& flat, const CostModel& costs, const SimulateOptions& options = {});

}  // namespace plimsoll
