#pragma once

#include <memory>
#include <span>

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "core/trace/trace.h"
#include "sim/cost/cost_model.h"

namespace plimsoll {

/// How steps of all ranks are compared with what the simulator says of them.
struct RanksComparison {
  std::vector<Trace> predicted;     ///< by rank
  std::string calibration;          ///< where the prediction's times are from
  Nanoseconds step_predicted, step_measured;
  double bubble_predicted = 0, bubble_measured = 0;
};

/// What to compare.
struct MeasuredRanks {
  std::span<const Plan> plans;
  std::span<const Trace> traces;     ///< by rank; of a job's first steps with all events
  std::uint32_t traced = 0;          ///< how many steps have events
  std::uint32_t warm_up = 0;         ///< from the first so many the costs are learned, half of the traced ones at most
  std::shared_ptr<const CostModel> costs;
  bool waits = false;                ///< kernels slept, so that costs are known
};

/// Learns costs from the first steps, simulates all plans together, and compares the steps after those. Nothing to compare (fewer
/// than two steps) gives times of 0.
Result<RanksComparison> compare_ranks(const MeasuredRanks& measured);

}  // namespace plimsoll
