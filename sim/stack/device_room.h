#pragma once

#include <string_view>

#include "formats/machines/gpu_catalogue.h"
#include "sim/stack/stack_setup.h"

namespace plimsoll {

/// What of a GPU's memory is not for a program's tensors.
struct DeviceRoom {
  Bytes context;  ///< CUDA's, with modules, libraries and communicators
  Bytes others;   ///< a desktop, and vLLM where it writes on the same GPU
  Bytes usable;   ///< what is left
};

/// An item of data/platforms/memory_overheads.csv for a board; 0 where no row matches.
Bytes device_overhead(std::string_view item, const GpuEntry& gpu);

/// Weights, cache and all else of vLLM where it writes on the same GPU: its share of what CUDA says there is, or of the cap.
Bytes vllm_memory(const GpuEntry& gpu, const StackSetup& setup);

DeviceRoom device_room(const GpuEntry& gpu, const StackSetup& setup);

}  // namespace plimsoll
