#pragma once

#include "core/platform/platform.h"
#include "sim/cost/cost_model.h"
#include "sim/inference/inference_task.h"

namespace plimsoll {

/// A forward pass over whole sequences without gradients, with the logits of every token.
struct FrozenPass {
  double seconds = 0;
  Bytes device;  ///< while it runs: activations, and buffers of what streams
};

/// What the weights of a model that only runs forward take, as compute reads them.
Bytes frozen_bytes(const ModelSpec& spec, Precision precision);

/// Passes over `sequences` of `length` tokens, `micro_batch` at a time, with the weights on the device or streamed from host
/// memory.
Result<FrozenPass> frozen_pass(const ModelSpec& spec, Precision precision, std::int64_t sequences, std::int64_t micro_batch,
                               std::int64_t length, bool on_device, const Platform& platform, const CostModel& costs);

/// The platform with less usable memory; at least one byte stays.
Platform less_memory(Platform platform, Bytes device, Bytes host);

}  // namespace plimsoll
