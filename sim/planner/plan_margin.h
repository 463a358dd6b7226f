#pragma once

#include "formats/runs/answers.h"
#include "sim/planner/search_plan.h"

namespace plimsoll {

/// How the plan that was found stands against the best of every other family when all kernels, all links, or both in opposite
/// ways take `percent` more or less time than estimated. The search must have found a plan.
Result<MarginAnswer> plan_margin(const SearchProblem& problem, const SearchResult& search, double percent);

}  // namespace plimsoll
