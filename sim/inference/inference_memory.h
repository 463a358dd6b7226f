#pragma once

#include <array>
#include <vector>

#include "core/platform/platform.h"
#include "sim/inference/inference_task.h"

namespace plimsoll {

/// What one memory holds at most.
struct InferenceBytes {
  Bytes weights;
  Bytes cache;  ///< keys and values
  Bytes activations;
  Bytes workspace;  ///< of transfers and codes

  [[nodiscard]] Bytes total() const { return weights + cache + activations + workspace; }
};

/// By memory: device, host, SSD, in the order of SpaceKind.
struct InferenceMemory {
  std::array<InferenceBytes, 3> spaces;

  [[nodiscard]] const InferenceBytes& at(SpaceKind kind) const { return spaces[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] InferenceBytes& at(SpaceKind kind) { return spaces[static_cast<std::size_t>(kind)]; }
};

/// The bytes that a policy takes.
///
/// What streams passes through two buffers a layer (weights) or a batch and layer (cache, on the device where the device
/// attends); the device also holds one decoded matrix and one decoded cache of a batch and layer where they are coded, the host
/// the widened (fp32) cache of a batch and layer where it attends. Activations of the device are the most that a pass over a
/// batch's prompts holds at once and its share of what waits between layers.
InferenceMemory inference_memory(const InferenceTask& task, const OffloadPolicy& policy);

/// Whether every memory that the platform has is large enough, and none is needed that it has not.
bool fits(const InferenceMemory& memory, const Platform& platform);

}  // namespace plimsoll
