#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/op.h"
#include "core/model/dtype.h"

namespace plimsoll {

/// What bounds a kernel of a stack.
enum class StackKernelSort : std::uint8_t {
  kProduct,      ///< batch × [m, k] · [k, n]
  kAttention,    ///< fused: m queries on n keys of k elements, batch heads
  kConvolution,  ///< as a product of m outputs, n channels, k = channels in · window
  kStream,       ///< elementwise, reductions, copies within the device
  kOptimizer,
  kCollective,   ///< `bytes` a rank sends and receives
  kToHost,
  kToDevice,
};

/// One launch: what it computes and moves.
struct StackKernel {
  StackKernelSort sort = StackKernelSort::kStream;
  Phase phase = Phase::kForward;
  DType dtype = DType::kFp32;
  bool backward = false;  ///< of attention
  bool causal = false;
  bool again = false;     ///< recomputed; no part of the model's own arithmetic
  std::int64_t batch = 1;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  double flops = 0;
  double bytes = 0;
};

}  // namespace plimsoll
