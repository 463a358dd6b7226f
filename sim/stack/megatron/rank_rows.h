#pragma once

#include "sim/stack/megatron/megatron_layers.h"
#include "sim/stack/tape/tensor_collective.h"

namespace plimsoll {

/// Megatron-LM sends gradients of inputs, and gathers what gradients of weights need, beside the backward pass's products.
Waits beside_products(const MegatronCut& cut);

/// All rows of what is cut by rows; itself otherwise.
Tensor all_rows(Tape& tape, const Tensor& x, std::int64_t width, const MegatronCut& cut, Waits waits);
/// Sums over the ranks: in place, or each rank its own rows.
Tensor summed(Tape& tape, Tensor whole, const Shape& own, const MegatronCut& cut, Waits waits);
/// The gradient of a matrix, where the product does not add it into a buffer.
Tensor weight_gradient(Tape& tape, Shape shape, DType dtype, const MegatronCut& cut);
/// The bias' gradient exists for a moment until it is added into its buffer.
Tensor bias_gradient(Tape& tape, const Tensor& dy, bool there, std::int64_t width);

}  // namespace plimsoll
