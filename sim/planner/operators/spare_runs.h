#pragma once

#include "core/plan/operator_graph.h"

namespace plimsoll {

/// Leaves out runs of operators that ran before, where what they write may as well wait in memory from before on, as
/// long as the peak stays within `budget` (which `runs` must); those with most time a byte and run of waiting first,
/// and then all that was run only for them. `most_work` bounds how many runs are looked at in all.
OperatorRuns spare_runs(const OperatorGraph& graph, OperatorRuns runs, Bytes budget, std::uint64_t most_work);

}  // namespace plimsoll
