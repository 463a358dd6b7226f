#pragma once

#include "sim/stack/tape/tape.h"

namespace plimsoll {

/// Autograd's last step for a parameter: its gradient is taken over where nobody else holds it, copied otherwise, or added to the
/// one that is there.
void accumulate_gradient(Tape& tape, Parameter& parameter, Tensor gradient);

}  // namespace plimsoll
