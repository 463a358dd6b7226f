#pragma once

#include <vector>

#include "sim/planner/search_plan.h"

namespace plimsoll {

/// What search_plan considers, the best first, of a problem that somebody prepared already: a deep model's graph, and the shorter
/// models of it that were built, serve more than one search. `options` must be of the same question; its `shared` is not asked.
Result<std::vector<Candidate>> search_prepared(SearchProblem problem, const SearchOptions& options);

}  // namespace plimsoll
