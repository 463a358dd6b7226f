#pragma once

#include "core/base/result.h"
#include "sim/stack/kernel_rates.h"
#include "sim/stack/tape/stack_kernel.h"

namespace plimsoll {

/// Seconds that a kernel keeps a GPU busy in a training step: start-up, then the longer of its arithmetic and its traffic.
/// A rate that nobody knows is an error that names it. Collectives and transfers are none of a GPU's kernels.
Result<double> kernel_seconds(const StackKernel& kernel, const KernelRates& rates);

}  // namespace plimsoll
