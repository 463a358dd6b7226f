#pragma once

#include <string>
#include <vector>

#include "sim/planner/try_strategy.h"

namespace plimsoll {

struct RefineOptions {
  std::string family;             ///< only strategies of this family; empty: any
  /// Strategies that may be lowered besides those that are known; a quarter as many more for jumps.
  std::size_t evaluations = 200;
  unsigned threads = 0;           ///< 0: one a core; the answer does not depend on it
  bool memory = false;            ///< for a plan that fits at all: nothing is simulated, and the first that fits ends it
  bool visits = true;             ///< MoveLimits::visits; without, such plans are no starts either
  bool only_visits = false;       ///< only strategies whose states come to the device for their update
  bool tight = false;             ///< loose candidates are looked at again, with the exact packing; no jumps
  std::vector<std::size_t> from = {};  ///< candidates to walk from; empty: the best `starts`
  std::size_t starts = 3;         ///< candidates of different families that are walked from; twice as many where nothing fits
};

/// Whether `a` is the better plan: it fits and `b` does not, it is faster, or it is short of less.
bool better(const Candidate& a, const Candidate& b);

/// Local search. Starts from the best few candidates of different families and changes one field at a time, each time to
/// the best of all such changes, until none makes the step at least a thousandth shorter (where nothing fits: the
/// shortfall less) or the evaluations are spent. What was looked at is appended to `candidates`. Fails on an unknown cost.
Result<void> refine_candidates(const SearchProblem& problem, const RefineOptions& options, std::vector<Candidate>& candidates);

/// Looks at all of `strategies` and appends those that can be planned to `candidates`, in their order. Fails when none
/// can, as the first of them does, or on an unknown cost.
Result<void> try_all(const SearchProblem& problem, const std::vector<Strategy>& strategies, const Look& look, unsigned threads,
                     std::vector<Candidate>& candidates);

}  // namespace plimsoll
