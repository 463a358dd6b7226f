#pragma once

#include "executor/cuda/device.h"
#include "tests/executor/kernels/kernel_case.h"

namespace plimsoll::gpu {

/// FLOP/s of one kernel on numbers that are all the same.
double sustained_flops(Device& device, const test::KernelCase& c, DType dtype);

}  // namespace plimsoll::gpu
