#pragma once

#include "core/plan/expand.h"

namespace plimsoll {

/// Adds to `body` the fewest dependencies (given queue order and those it already has) that order every two overlapping
/// uses of which one writes, within the step and across steps, in id order. Buffers must have their offsets.
/// With `serial` every instruction also depends on the one before it.
void order_conflicts(const Plan& plan, FlatBody& body, bool serial = false);

}  // namespace plimsoll
