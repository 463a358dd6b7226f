#pragma once

#include <cstdint>

namespace plimsoll {

/// Whose fused attention runs.
enum class FusedAttention : std::uint8_t {
  kFlash,  ///< FlashAttention 2, or what PyTorch has where that does not run
  kFlash3,  ///< FlashAttention 3, written for Hopper
  kCudnn,  ///< cuDNN's, which Transformer Engine prefers from Hopper on
  kOwn,  ///< our executor's, where it was measured; else as kFlash
};

}  // namespace plimsoll
