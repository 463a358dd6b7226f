#pragma once

#include "core/graph/expert_shape.h"
#include "core/model/dtype.h"

namespace plimsoll {

/// As flops_of, of a mixture's kernels: products of the rows that are expected to be sent.
double expert_flops(OpKind kind, const OpShape& shape);

/// As traffic_of, of a mixture's kernels: the rows that are expected, and the weights of every expert.
Bytes expert_traffic(OpKind kind, const OpShape& shape, DType dtype);

}  // namespace plimsoll
