#pragma once

#include "sim/stack/tape/tape.h"

namespace plimsoll {

/// A kernel that overwrites x (a multiple, a masked fill): no new tensor but the gradient's.
Tensor overwritten(Tape& tape, const Tensor& x);
/// A copy in another order; its gradient is read in the order that it had.
Tensor copied(Tape& tape, const Tensor& x);

}  // namespace plimsoll
