#pragma once

#include "core/graph/op.h"
#include "core/model/dtype.h"

namespace plimsoll {

/// Floating-point operations of one kernel, a fused multiply-add counted as two.
/// Linear: 2·rows·inputs·outputs, and the same for each of its two backward products. Causal attention: the lower
/// triangle only, 2·2·rows·(sequence+1)/2·width forward and 2.5 times that backward with the scores recomputed
/// (Dao 2023, FlashAttention-2, section 4); full attention: sequence keys in place of
/// (sequence+1)/2. Elementwise kernels count a few operations an element.
double flops_of(OpKind kind, const OpShape& shape);

/// Bytes that one kernel must move between its memory and its processor: every operand once, in `dtype`, statistics, losses
/// and optimizer state in the state's type. Updates that need a tensor's norm or sums first pass over it as often as that takes.
Bytes traffic_of(OpKind kind, const OpShape& shape, DType dtype);

/// Scratch bytes of one launch of a kernel in `dtype`: for `workers` CPU workers, or for a fused GPU kernel when `workers` is 0.
Bytes workspace_of(OpKind kind, const OpShape& shape, DType dtype, std::int64_t workers);

/// Floats that a CPU thread keeps to widen operands of two bytes into: those of one product tile, or a few rows.
inline constexpr std::int64_t kHalfScratch = std::int64_t{1} << 19;

/// Rows of the fixed tiles over which column sums (norm weights, biases) are reduced; part of the numerics.
inline constexpr std::int64_t kReductionRows = 64;

}  // namespace plimsoll
