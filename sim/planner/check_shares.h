#pragma once

#include "core/base/result.h"
#include "core/plan/strategy.h"

namespace plimsoll {

/// Whether the counts of blocks that a strategy names belong to tiers that it asks for and to blocks that the model has.
Result<void> check_shares(const Strategy& strategy, std::int64_t layers);

/// Where the states of a group wait for their update; `block` is the group's transformer block, -1 of embedding and head.
Tier state_tier(const Strategy& strategy, std::int64_t block);

/// Whether the device updates the weights of a group, wherever its states wait.
bool updated_by_device(const Strategy& strategy, std::int64_t block);

/// Of so many blocks' updates, that none is left to the CPU.
bool device_updates_all(const Strategy& strategy, std::int64_t blocks);

}  // namespace plimsoll
