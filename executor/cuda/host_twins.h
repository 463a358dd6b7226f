#pragma once

#include <span>

#include "executor/cuda/twin_loops.h"
#include "executor/kernels/launch.h"

namespace plimsoll {

/// Runs a kernel on the host as the device would, to the bit, whichever loops are given: sums of squares and updates of elements.
/// False: of any other kind the CPU's kernel will do.
bool launch_as_on_device(const Kernel& kernel, std::span<const OperandView> operands, const LaunchContext& context,
                         const TwinLoops& loops = twin_loops());

}  // namespace plimsoll
