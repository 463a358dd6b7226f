#pragma once

#include "sim/stack/operators/operator_test.h"

namespace plimsoll {

// Eager operations that benchmarks of operators are written in, beyond those of models.

/// Both outputs' gradients: the very same, and a negated copy.
Tensor subtract(Tape& tape, const Tensor& a, const Tensor& b);
/// |x|: backward makes the signs and then the product.
Tensor absolute(Tape& tape, const Tensor& x);
/// Sum over everything: its gradient is one number, seen at every place.
Tensor total(Tape& tape, const Tensor& x);
/// Sum over the last dimension, which stays with size 1: its gradient is seen along the row.
Tensor sum_of_rows(Tape& tape, const Tensor& x);
/// One value of each row of a matrix, which stays with size 1: backward fills a tensor like x.
Tensor picked_of_rows(Tape& tape, const Tensor& x);
/// Divergence of x (logarithms) from a target of logarithms, place by place: e^target · (target − x).
Tensor divergence(Tape& tape, const Tensor& x, const Tensor& target);
/// Values that were once made of a leaf and are used again in every repetition; backward takes `transients` more
/// tensors of that size on the way to the leaf's gradient.
Tensor derived(Tape& tape, Parameter& source, const Tensor& values, int transients);

}  // namespace plimsoll
