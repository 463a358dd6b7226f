#pragma once

#include <optional>
#include <vector>

#include "sim/stack/predict_stack.h"
#include "sim/stack/step_timeline.h"
#include "sim/stack/tape/stack_kernel.h"

namespace plimsoll {

/// The launches of a step with what each takes. A rate that nobody knows is an error.
Result<std::vector<TimedLaunch>> timed_launches(const std::vector<StackKernel>& kernels, const StackSetup& setup, Precision precision,
                                                const GpuEntry& gpu);

/// The interval of a step whose products are of that type, by how well the GPU's rates are known.
void set_interval(StackTime& time, std::optional<DType> products, const GpuEntry& gpu);

/// What a step of these kernels takes, phase by phase: the GPU works through its queue while the host's thread fills it, so a
/// phase lasts as long as the slower of the two. Collectives run beside the phase's kernels but for the one that nothing is
/// left to hide; the interval is that of the GPU's known rates.
Result<StackTime> step_time(const std::vector<StackKernel>& kernels, const StackSetup& setup, Precision precision,
                            const GpuEntry& gpu);

}  // namespace plimsoll
