#pragma once

#include <vector>

#include "sim/planner/try_strategy.h"

namespace plimsoll {

/// The shares of blocks that `base` leaves to choose by its tiers (of whose blocks activations, states and weights lie where),
/// chosen by a linear programme and rounded. What memory and each queue take in each phase is taken to be linear in the
/// shares: it is read off from instructions that are written for no block and for all but one, and corrected at each answer.
/// The sum over the phases of the time of each one's busiest queue or resource is made least, within every memory. Of all
/// ways to round, those that the corrected lines find to fit best come first. Empty where `base` has no such share, or where
/// no share fits. Fails when `base` cannot be lowered (kInput) or a cost is unknown.
Result<std::vector<Strategy>> rounded_shares(const SearchProblem& problem, const Strategy& base, unsigned threads = 0);

/// `base` with none of its blocks elsewhere than its tiers say: equal for strategies that differ in their shares only.
Strategy without_shares(const Strategy& base);

}  // namespace plimsoll
