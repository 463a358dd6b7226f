#pragma once

#include "core/graph/op.h"
#include "core/model/dtype.h"

namespace plimsoll {

/// As flops_of, of the attention family: twice the product of the visible scores with a head-sized operand forward, five times
/// backward.
double attention_flops(OpKind kind, const OpShape& shape);

/// As traffic_of, of the attention family.
Bytes attention_traffic(OpKind kind, const OpShape& shape, DType dtype);

/// As workspace_of, of kernels that attend.
Bytes attention_workspace(OpKind kind, const OpShape& shape, DType dtype, std::int64_t workers);

/// Elements of attention's scratch that one CPU worker needs: the scores of a tile of queries; in `half` storage also
/// widened keys, values and tiles, and in the backward pass their gradients before they are rounded.
std::int64_t attention_slice(OpKind kind, const OpShape& shape, bool half);

/// Elements of its scratch before those of the workers: each sequence's part of the gradient of a bias, to be summed.
std::int64_t bias_parts(OpKind kind, const OpShape& shape);

/// Query rows that one attention task handles; part of the numerics.
inline constexpr std::int64_t kAttentionRows = 64;

}  // namespace plimsoll
