#pragma once

#include "core/base/result.h"
#include "core/plan/block_chain.h"

namespace plimsoll {

/// What a schedule takes.
struct ChainReplay {
  double seconds = 0;
  Bytes peak;               ///< beside the chain's own input
  std::size_t fullest = 0;  ///< the first entry at which the peak is reached
};

/// Runs a schedule entry by entry without trusting who made it: every forward finds its input, every backward what was
/// saved and the gradient from the block after it, and all blocks go backward. What is counted is in this folder's
/// README.
Result<ChainReplay> replay_chain(const BlockChain& chain, const ChainSchedule& schedule);

}  // namespace plimsoll
