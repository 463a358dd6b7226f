#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "sim/planner/chains/chain_curve.h"

namespace plimsoll {

/// A way from the device to host memory and back, both directions at once and beside the chain's kernels.
struct ChainLink {
  double bytes_per_second = 0;  ///< each way; 0: there is none
  Bytes host;                   ///< that may wait there
};

/// A part of the chain, on the way in and on the way back: one block that is saved, or several that are passed, of which the
/// first one's input stays, and which are run again within what is left when the gradient comes back to them.
struct OffloadStretch {
  std::size_t first = 0;
  std::size_t last = 0;
  bool saves = true;
  std::uint32_t option = 0;  ///< of a saved block
  Bytes sent;   ///< of what is saved, but for its output: leaves after the forward, is back before the backward
  Bytes ahead;  ///< of what stretches before this one sent: is back on the device when this one's return ends
};

/// What a sequence of stretches takes within a budget.
struct OffloadReplay {
  double seconds = 0;
  double waiting = 0;  ///< of these, for the link
  Bytes peak;
  Bytes host;  ///< that waits there at the turn
};

/// Runs stretches in their order and back. What is sent stays on the device until it has left; a forward that has no room
/// waits for that. What was sent comes back as late as it may. Fails where something does not fit, is not sent before it comes
/// back, or is no way through the chain. `curve` is that of the chain, with all of its stretches.
Result<OffloadReplay> replay_offload(const BlockChain& chain, const ChainCurve& curve, const ChainLink& link, Bytes budget,
                                     const std::vector<OffloadStretch>& stretches);

/// A plan that keeps, computes again and sends away.
struct OffloadPlan {
  OffloadReplay replay;
  std::vector<OffloadStretch> stretches;
  bool exact = true;  ///< the fastest of the model's; false where some ways were left out for speed
};

/// The fastest way through the chain over stretches, over what blocks send in quarters, and over what comes back ahead, with
/// what waits for the link on the way out and back as state; nothing when none fits. Without a link this is the recurrence of
/// the curve, taken from the first block on.
std::optional<OffloadPlan> offload_chain(const BlockChain& chain, const ChainCurve& curve, const ChainLink& link, Bytes budget);

/// Bytes that must be free when a stretch goes in, beside what is held.
Bytes room_inward(const BlockChain& chain, const OffloadStretch& stretch);
/// And when a saved block goes back.
Bytes room_back(const BlockChain& chain, const OffloadStretch& stretch);

}  // namespace plimsoll
