#pragma once

#include "core/plan/operator_graph.h"
#include "sim/planner/operators/replay_operators.h"

namespace plimsoll {

/// What an order of runs takes, where each storage goes as soon as nothing reads it any more before it is written
/// again.
struct RunsWeight {
  Nanoseconds time;
  Bytes peak;
  std::vector<std::int64_t> held;  ///< bytes during each run: what is read and what waits, and all that it writes
  std::vector<char> useless;       ///< runs of operators that ran before, and of which nothing is read
};

/// Goes through `runs` once, from the end. Each operator must be among them after its inputs' makers; entries that name
/// none are passed over.
RunsWeight weigh_runs(const OperatorGraph& graph, const OperatorRuns& runs);

/// The same runs without those that are of no use, or name none.
OperatorRuns without_useless(const OperatorRuns& runs, const RunsWeight& weight);

/// The same runs, and where each storage goes.
OperatorSchedule with_frees(const OperatorGraph& graph, const OperatorRuns& runs);

}  // namespace plimsoll
