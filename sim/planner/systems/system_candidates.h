#pragma once

#include <vector>

#include "sim/planner/systems/offload_system.h"
#include "sim/planner/try_strategy.h"

namespace plimsoll {

/// A published system is planned as it is, but for what it leaves open. Fails where it trains by another recipe, cannot be
/// planned here (kInput), or on an unknown cost.
Result<Candidate> try_system(const SearchProblem& problem, const OffloadSystem& system, const Look& look = {});

/// The plans of all systems that train by the asked recipe and can be planned here, each under the name of its family, in the
/// order of offload_systems(). They are what a search must not be worse than; `look.below` is where it stands. Fails on an
/// unknown cost.
Result<std::vector<Candidate>> system_candidates(const SearchProblem& problem, const Look& look = {}, unsigned threads = 0);

}  // namespace plimsoll
