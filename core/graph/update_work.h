#pragma once

#include "core/graph/op.h"
#include "core/model/dtype.h"

namespace plimsoll {

/// Whether an update goes over a group's elements, whatever tensors they belong to. Others have `rows` · `inputs` of one tensor, 8-bit
/// Adam `rows`.
bool takes_group(OpKind kind);

/// As flops_of, of an optimizer's kernels that write weights.
double update_flops(OpKind kind, const OpShape& shape);

/// As traffic_of, of the same. Rules that need a tensor's norm or sums first pass over it more than once, and the tensor is
/// taken not to stay in a cache between passes.
Bytes update_traffic(OpKind kind, const OpShape& shape, DType dtype);

/// Products of a quintic step that orthogonalizes a matrix: A = X Xᵀ, B = bA + cA², X = aX + BX, over the shorter side.
inline constexpr std::int64_t kNewtonSchulzSteps = 5;

/// Operations of Muon's products, for every one of `terms` matrices that lie one after another.
double newton_schulz_flops(const OpShape& shape);

}  // namespace plimsoll
