#pragma once

#include "sim/stack/tape/tape.h"

namespace plimsoll {

// What hand-written kernels allocate and keep, where it differs from PyTorch's own operations.

/// activation(a) · b in one kernel: keeps a and b (copies where they are parts of wider rows), whose places backward fills with
/// their gradients.
Tensor fused_gated_product(Tape& tape, const Tensor& a, const Tensor& b);

struct NormKernel {
  std::int64_t multiprocessors = 0;
  bool in_place = false;  ///< the input's gradient takes the place of the result's
};

/// RMS norm in one kernel: keeps x and a root a row; backward sums partial gradients of the weight, one row a multiprocessor.
Tensor kernel_rms_norm(Tape& tape, const Tensor& x, Parameter& weight, const NormKernel& kernel);

/// Rotary positions of heads [b, heads, s, d] in place: memory by token, a copy where it is not so. `backward_too`: so are
/// gradients, which have memory of their own otherwise.
Tensor rotated_in_place(Tape& tape, const Tensor& x, bool backward_too = true);

/// An operator that keeps `saved` and writes one gradient of the input's size.
Tensor fused_rows(Tape& tape, const Tensor& x, const Tensors& saved);

/// Negative log-likelihood of rows in one kernel, forward and backward at once: the logits' place holds their gradient
/// then.
Tensor cross_entropy_in_place(Tape& tape, const Tensor& logits);

/// Sums partial gradients of a normalization's vectors: one row a multiprocessor in fp32 for each, then the sum.
Tensors summed_partials(Tape& tape, std::int64_t multiprocessors, const Tensors& weights);

}  // namespace plimsoll
