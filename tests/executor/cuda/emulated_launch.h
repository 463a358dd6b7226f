#pragma once

#include "executor/cuda/launch/device_launch.h"
#include "tests/executor/cuda/fibers.h"

namespace plimsoll::test {

/// Runs one kernel of a plan by the CUDA backend's programs, on the host.
void emulate(const cuda::DeviceLaunch& launch, Fibers::Order order = Fibers::Order::kForward);

}  // namespace plimsoll::test
