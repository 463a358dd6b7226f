#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "core/trace/trace.h"
#include "sim/cost/cost_model.h"

namespace plimsoll {

struct SimulateOptions {
  std::uint32_t steps = 3;          ///< bodies laid one after another; the last one is the steady state
  double guard_probability = 1.0;   ///< chance that a guarded instruction runs; decided by id, so runs repeat
  bool keep_events = true;          ///< false keeps only step summaries (for planners that look at thousands of plans)
};

/// Runs the plan's body `name` in simulated time under the law of plans. Instructions that share resources (links of one
/// tree, host DRAM, CPU cores) slow each other down by max-min fair shares. Same input, same trace, to the nanosecond.
/// Fails when a cost is unknown (kUncalibrated, by name) or a copy has no link.
Result<Trace> simulate(const Plan& plan, std::string_view body, const CostModel& costs, const SimulateOptions& options = {});

}  // namespace plimsoll
