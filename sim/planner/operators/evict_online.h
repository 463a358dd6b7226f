#pragma once

#include <optional>

#include "core/plan/operator_graph.h"
#include "sim/planner/operators/eviction_rule.h"
#include "sim/planner/operators/storage_links.h"

namespace plimsoll {

/// What running a program under a rule came to.
struct OnlineRun {
  std::optional<OperatorRuns> runs;  ///< none where memory was short, or more was computed again than allowed
  std::uint64_t looks = 0;           ///< how many scores were computed, and links between storages looked at for them
};

/// When a run is given up.
struct OnlineLimits {
  double most_again = 1;  ///< time of operators that run again, in times of the program's own
  std::uint64_t most_looks = ~std::uint64_t{0};
};

/// Runs the program in its order within `budget`: an operator's inputs that were evicted are made again first, one
/// after the other and with all that they need, and while there is no room for its outputs the storage that `rule`
/// scores least goes. This is DTR's runtime as its simulator defines it (locks, eager eviction, siblings, views, ties).
/// `links` are the graph's.
OnlineRun evict_online(const OperatorGraph& graph, const StorageLinks& links, Bytes budget, const EvictionRule& rule,
                       const OnlineLimits& limits);

}  // namespace plimsoll
