#pragma once

#include "core/plan/plan.h"
#include "sim/stack/step_timeline.h"
#include "sim/stack/tape/stack_kernel.h"

namespace plimsoll {

/// What an instruction says of a launch beside its queue and phase.
struct LoweredLaunch {
  InstructionKind kind = InstructionKind::kLaunch;
  Kernel kernel;
};

/// A launch as an instruction: products by rows, inputs, outputs and groups (their batch), attention by rows, sequence (keys),
/// heads and head_dim, everything else by bytes alone. `positions` and 2^30 `choices` are the bytes that it moves, `capacity` and 2^30
/// `experts` its arithmetic in FLOPs, `constant` its seconds by the stack's rates with the pause before the next; `variant` 1 marks what is recomputed,
/// `terms` 2 a copy that the kernels wait for.
LoweredLaunch lower_launch(const StackKernel& kernel, double seconds);

/// The launch again, as far as time needs it.
struct RaisedLaunch {
  TimedLaunch timed;
  double flops = 0;
  bool again = false;
};
RaisedLaunch raise_launch(const Plan& plan, const Instruction& instruction);

}  // namespace plimsoll
