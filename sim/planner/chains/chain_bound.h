#pragma once

#include <optional>

#include "core/plan/block_chain.h"

namespace plimsoll {

/// A time that no schedule within `budget` beats, persistent or not; none when no schedule fits. When the last block
/// goes backward, every other block is saved, or it was run before and is run again: the cheapest choice whose saved
/// bytes fit beside the last block's, with fractions of blocks allowed.
std::optional<double> chain_bound(const BlockChain& chain, Bytes budget);

}  // namespace plimsoll
