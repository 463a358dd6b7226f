#pragma once

#include <cstdint>
#include <vector>

#include "core/base/quantity.h"

namespace plimsoll {

/// Frozen experts in 4 bits that wait outside of the GPU, all in locked host memory or as rows that a drive's file
/// lends, and the tensors of the checkpoint that they are loaded from.
struct WaitingExperts {
  std::int64_t layers = 0;
  std::int64_t experts = 0;  ///< of a layer
  std::int64_t hidden = 0;
  std::int64_t width = 0;    ///< of an expert
  bool fused = false;        ///< the checkpoint holds the experts of a layer as two tensors, not three of each expert
  std::int64_t rows = 0;     ///< experts that have a place in host memory at once; 0: every one of every layer
  std::vector<Bytes> dense;  ///< sizes of the other tensors, each once
};

/// Bytes of one expert: three matrices in NF4 with an fp32 scale for each 64 weights.
Bytes expert_bytes(const WaitingExperts& waiting);

/// Host memory that is locked once the model is loaded. Each tensor of the checkpoint passes through a locked buffer of
/// its own on its way to the GPU (safetensors 0.8.0), which stays; a layer's experts wait in four tensors, rows in one.
Bytes locked_for(const WaitingExperts& waiting);

}  // namespace plimsoll
