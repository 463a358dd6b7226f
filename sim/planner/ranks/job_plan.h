#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/plan/order_ranks.h"
#include "core/trace/trace.h"
#include "sim/cost/cost_model.h"

namespace plimsoll {

/// The plans of a job's ranks as one plan of one computer: each rank's queues and memory beside the others', cores and memory
/// rates shared. An exchange is one instruction on each rank's queue, which starts when the last of them could.
struct JobPlan {
  Plan plan;
  std::vector<JobInstruction> origin;  ///< by the plan's instruction: whose it is
};

/// Plans must have been ordered; they are all of one computer.
JobPlan join_plans(std::span<const Plan> plans, const JobOrder& order);

/// What became of `steps` steps of all ranks.
struct JobTrace {
  std::vector<Trace> ranks;  ///< predicted; of events those of the rank's own instructions
};

/// Runs all ranks' plans together in simulated time. Fails as simulate does.
Result<JobTrace> simulate_ranks(std::span<const Plan> plans, const CostModel& costs, std::uint32_t steps);

/// Share of the ranks' time in which they do not compute, over steps [first, last] of their traces (all with events): 1 − the
/// sum of their kernels' times ÷ (ranks · the time from the end of step first − 1 to that of the last one, of the latest rank).
double bubble_of(std::span<const Plan> plans, std::span<const Trace> traces, std::uint32_t first, std::uint32_t last);

/// Mean duration of those steps on the latest rank.
Nanoseconds step_of(std::span<const Trace> traces, std::uint32_t first, std::uint32_t last);

}  // namespace plimsoll
