#pragma once

#include <optional>

#include "core/plan/block_chain.h"

namespace plimsoll::test {

/// The least time within `budget` of all schedules that keep what they have kept until its backward, by trying every
/// entry at every state: it knows what the memory of a chain may hold, and nothing of stretches or recurrences. For a
/// few blocks.
std::optional<double> brute_force_chain(const BlockChain& chain, Bytes budget);

}  // namespace plimsoll::test
