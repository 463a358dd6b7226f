#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/op.h"
#include "core/model/dtype.h"

namespace plimsoll {

/// One byte an element: numbers of E4M3 or E5M2.
inline constexpr DType kFp8Type = DType::kUint8;

/// What bounds a kernel of a stack.
enum class StackKernelSort : std::uint8_t {
  kProduct,      ///< batch × [m, k] · [k, n]
  kAttention,    ///< fused: m queries on n keys of k elements, batch heads
  kConvolution,  ///< as a product of m outputs, n channels, k = channels in · window
  kRelayout,     ///< what a convolution reads and writes beside its arithmetic, to turn planes into pixels and back
  kPlanes,       ///< elementwise over feature maps, pools
  kBatchNorm,    ///< over feature maps that are stored plane by plane
  kStream,       ///< elementwise, reductions, copies within the device
  kOptimizer,
  kPass,         ///< one pass over memory, compiled or not: casts to 8 bits and transpositions there, a loss that a compiler writes
  kCollective,   ///< `bytes` a rank sends and receives
  kToHost,
  kToDevice,
  kHostPass,     ///< `bytes` of host memory that norms, checks and unscaling read and write before an update
  kHostUpdate,   ///< `bytes` of host memory that an update there reads and writes
  kFromDrive,
  kToDrive,
};

/// Which ranks a collective joins: data ranks lie as far apart as tensor and context ranks go, stages as far as all others; ranks that
/// share experts are neighbours, but for those that share each of them, and copies of experts lie as far apart as both go.
enum class Among : std::uint8_t { kData, kTensor, kStages, kExperts, kExpertCopies };

/// One launch: what it computes and moves.
struct StackKernel {
  StackKernelSort sort = StackKernelSort::kStream;
  Phase phase = Phase::kForward;
  DType dtype = DType::kFp32;
  bool backward = false;  ///< of attention
  bool causal = false;
  bool again = false;     ///< recomputed; no part of the model's own arithmetic
  bool blocking = false;  ///< a copy that the GPU's kernels wait for
  bool turned = false;    ///< a product whose left operand lies as [k, m]
  Among among = Among::kData;
  bool pairs = false;       ///< of a collective: each rank sends every other a part of its own (all-to-all)
  std::uint8_t rounds = 1;  ///< of a collective: an all-reduce goes round twice
  std::int64_t ranks = 2;   ///< of a collective
  std::int64_t batch = 1;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  double flops = 0;
  double bytes = 0;
  std::uint32_t turn = 0;    ///< the pass of a micro-batch that it belongs to, counted through the run
  std::uint32_t place = 0;   ///< where in the step: index into the places of the tape
  std::uint64_t events = 0;  ///< of the storage log, that came before it
};

}  // namespace plimsoll
