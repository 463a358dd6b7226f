#pragma once

#include <optional>
#include <string>

#include "core/base/result.h"
#include "sim/planner/operators/replay_operators.h"

namespace plimsoll {

/// How a program runs within a budget by one rule.
struct OperatorPlan {
  std::string name;
  std::optional<OperatorReplay> replay;  ///< none where the rule finds no way
};

/// The plan for a program in a budget, and what to hold it against.
struct OperatorAnswer {
  Bytes budget;
  Nanoseconds base_time;  ///< of every operator once
  Bytes base_peak;        ///< when nothing runs again
  Bytes least_bytes;      ///< no order needs less
  std::optional<Nanoseconds> lower_bound;
  std::optional<OperatorPlan> best;
  OperatorSchedule schedule;            ///< of the best
  std::vector<OperatorPlan> baselines;  ///< DTR's heuristics, as its runtime follows them online
};

/// How much is tried.
struct OperatorSearch {
  std::uint64_t work = 4'000'000'000;  ///< about a nanosecond each; where DTR's own heuristics take long, more
  unsigned threads = 0;                ///< 0: one a core
};

/// Decides what of a general graph's values is kept, freed and computed again, and when. Starting points are DTR's
/// heuristics and rules of the same form that know what comes, also with scores disturbed at random and told of
/// somewhat more memory than there is; each one's order is freed of what it runs in vain and then of whatever may wait
/// in memory instead (spare_runs). What is found is judged by replay_operators, is never slower than any of DTR's
/// heuristics, and does not depend on the number of threads. An error is a defect of ours.
Result<OperatorAnswer> plan_operators(const OperatorGraph& graph, Bytes budget, const OperatorSearch& search = {});

}  // namespace plimsoll
