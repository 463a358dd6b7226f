#pragma once

#include "core/plan/plan.h"
#include "sim/inference/inference_task.h"

namespace plimsoll {

/// Writes a pass of all batches of a policy as a plan: layer by layer, in each layer batch by batch, and beside a batch's
/// computation the next layer's weights, the next batch's cache, the last batch's new keys and values, and activations on their
/// way (Sheng et al. 2023, FlexGen, algorithm 1). A round ends when all of that is done. `cached` tokens of each sequence are
/// there already: 0 in the prompt's pass. The platform must have the memories that the policy names.
Plan write_block_schedule(const InferenceTask& task, const OffloadPolicy& policy, const Platform& platform, std::int64_t cached);

}  // namespace plimsoll
