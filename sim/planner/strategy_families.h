#pragma once

#include <string>
#include <vector>

#include "core/model/recipe.h"
#include "core/plan/strategy.h"
#include "core/platform/platform.h"

namespace plimsoll {

/// The name of the family that a strategy belongs to, by its fields. It is a base, then "-device-update" when the device updates blocks
/// whose states wait elsewhere, then "-overlapped" when updates run during backward, then "-ssd" when anything lies on the SSD. The base is "stream" (weights come to the device block by
/// block), else "offload-optimizer" (the CPU updates), else "offload-activations", "recompute", or "resident".
std::string family_of(const Strategy& strategy);

/// Every family's name, in the order in which the families are told of.
std::vector<std::string> family_names();

/// The search's starting points for a model of that many layers on that platform, in a fixed order; each has its
/// family's name. Of a frozen model the weights may be streamed while the device updates what it trains.
std::vector<Strategy> candidate_strategies(std::int64_t layers, const Platform& platform, Precision precision,
                                           bool frozen = false);

/// The same on a platform that has an SSD, so that a family which needs one can be refused by what is lacking.
std::vector<Strategy> all_candidate_strategies(std::int64_t layers, Precision precision, bool frozen = false);

}  // namespace plimsoll
