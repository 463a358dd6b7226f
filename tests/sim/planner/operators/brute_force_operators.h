#pragma once

#include <optional>

#include "core/plan/operator_graph.h"

namespace plimsoll::test {

/// The least time of any schedule within `budget`, by Dijkstra's algorithm over all sets of storages that may be there
/// and how far the program has come; none where there is none. For graphs of few storages, without views.
std::optional<Nanoseconds> brute_force_operators(const OperatorGraph& graph, Bytes budget);

}  // namespace plimsoll::test
