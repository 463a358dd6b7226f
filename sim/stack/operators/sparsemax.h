#pragma once

#include "sim/stack/tape/tape.h"

namespace plimsoll {

/// Euclidean projection of rows onto the simplex (Martins and Astudillo 2016) in PyTorch's operations: sort, cumulated
/// sum, support, threshold, what is above it. All its steps have names until it returns.
Tensor sparsemax(Tape& tape, const Tensor& x);

}  // namespace plimsoll
