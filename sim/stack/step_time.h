#pragma once

#include <vector>

#include "sim/stack/predict_stack.h"
#include "sim/stack/tape/stack_kernel.h"

namespace plimsoll {

/// What a step of these kernels takes, phase by phase: the GPU works through its queue while the host's thread fills it, so a
/// phase lasts as long as the slower of the two. Collectives run beside the phase's kernels but for the one that nothing is
/// left to hide; the interval is that of the GPU's known rates.
Result<StackTime> step_time(const std::vector<StackKernel>& kernels, const StackSetup& setup, Precision precision,
                            const GpuEntry& gpu);

}  // namespace plimsoll
