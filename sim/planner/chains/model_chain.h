#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/plan/block_chain.h"
#include "core/platform/platform.h"
#include "sim/cost/cost_model.h"

namespace plimsoll {

/// One micro-batch of a model's step as a chain: what comes before its first block, each block, and the rest with the loss.
/// Options of a block keep the outputs of more and more kernels, those first that cost most arithmetic a byte, as a
/// strategy's `kept_outputs` does; those that are worse in all are left out. Bytes are those of activations, their gradients and
/// workspaces; weights and their gradients are beside the chain. Times are those of the device's kernels one after
/// another. Fails on a model that has no graph of our kernels or whose blocks read more than the one before them wrote, and on
/// an unknown cost.
Result<BlockChain> model_chain(const ModelSpec& spec, const Recipe& recipe, const Platform& platform, const CostModel& costs);

}  // namespace plimsoll
