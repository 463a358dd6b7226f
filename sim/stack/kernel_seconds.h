#pragma once

#include "core/base/result.h"
#include "formats/machines/gpu_catalogue.h"
#include "sim/stack/tape/stack_kernel.h"

namespace plimsoll {

/// Seconds that a kernel keeps `gpu` busy in a training step. A rate that nobody knows is an error that names it.
Result<double> kernel_seconds(const StackKernel& kernel, const GpuEntry& gpu, bool tf32);

}  // namespace plimsoll
