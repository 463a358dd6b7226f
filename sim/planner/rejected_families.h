#pragma once

#include <vector>

#include "sim/planner/search_plan.h"

namespace plimsoll {

/// The best member of a family that was not chosen: what it needs and what its step would take where there is room for it.
struct RejectedFamily {
  Strategy strategy;
  std::vector<SpaceNeed> needs;
  Nanoseconds step;
  QueueLoad busiest;
};

/// One entry for each family but the best candidate's, in the order of the search: those that fit by time, then the
/// others by shortfall. Lowers and simulates each once more, on all cores.
Result<std::vector<RejectedFamily>> rejected_families(const SearchProblem& problem, const SearchResult& search);

}  // namespace plimsoll
