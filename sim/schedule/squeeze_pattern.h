#pragma once

#include "sim/schedule/slot_pattern.h"

namespace plimsoll {

/// Moves ops of the start and of the end of a repeated pattern into earlier free slots, as far as data allows and no
/// rank then holds more activations than the one that held most before. What lies between the first rank's first input
/// gradient on the way down and its last forward stays. A pattern with weight gradients frees activations at them, and
/// its start is squeezed too; one without frees them in free slots, where weight gradients will lie, and only its end
/// is squeezed.
void squeeze(SlotPattern& pattern, bool with_weights);

}  // namespace plimsoll
