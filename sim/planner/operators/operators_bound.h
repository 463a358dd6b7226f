#pragma once

#include <optional>

#include "core/plan/operator_graph.h"

namespace plimsoll {

/// No order of runs needs less: what an operator reads and writes is there while it runs, and constants, and what is
/// kept at the end.
Bytes least_operator_bytes(const OperatorGraph& graph);

/// No order of runs within `budget` takes less time; none where it is below least_operator_bytes. When an operator runs
/// for the first time, what was written before and is read by a later one must be there, or its maker runs again:
/// makers with the least time a byte are taken (the relaxation of a knapsack), at the moment where that is most.
std::optional<Nanoseconds> operators_bound(const OperatorGraph& graph, Bytes budget);

}  // namespace plimsoll
