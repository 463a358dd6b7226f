#pragma once

#include <optional>
#include <string>

#include "core/base/result.h"
#include "sim/planner/chains/chain_curve.h"
#include "sim/planner/chains/replay_chain.h"

namespace plimsoll {

/// A schedule and what its replay counted.
struct ChainPlan {
  std::string name;
  ChainSchedule schedule;
  ChainReplay replay;
  bool fits = false;
};

/// What a chain takes within a budget.
struct ChainAnswer {
  Bytes budget;
  std::optional<ChainPlan> best;           ///< none when nothing fits
  std::optional<double> lower_bound;       ///< of all schedules
  std::optional<double> persistent_bound;  ///< of those that keep what they keep; the best's own time when `exact`
  bool exact = true;                 ///< `best` is the best of those
  StepCurve curve;                   ///< of the whole chain; of budgets other than this one thinned where it is long
  std::vector<ChainPlan> baselines;  ///< keep everything, √n segments, Revolve with the most inputs that fit; with
                                     ///< several options, the same one in each block
};

/// The best schedule within `budget` and older rules beside it, all replayed. `curve` is the chain's; where it was thinned
/// this budget is looked at again by itself, for some seconds at the most. An error is a defect of
/// this program.
Result<ChainAnswer> compare_chain_plans(const BlockChain& chain, const ChainCurve& curve, Bytes budget);

}  // namespace plimsoll
