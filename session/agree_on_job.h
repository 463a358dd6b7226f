#pragma once

#include "core/base/result.h"
#include "session/run_ranks.h"

namespace plimsoll {

/// Every rank says what it was started with: its build, model, recipe, share of the work, data and number of steps. All ranks
/// answer alike; what differs is named with the rank that has it. Every rank must call.
Result<void> agree_on_job(const RanksRequest& request, Job& job);

/// The same for the plans that each rank made of all ranks.
Result<void> agree_on_plans(const std::vector<std::string>& digests, Job& job);

}  // namespace plimsoll
