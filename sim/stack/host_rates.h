#pragma once

#include "formats/machines/gpu_catalogue.h"
#include "sim/stack/stack_setup.h"
#include "sim/stack/tape/stack_kernel.h"

namespace plimsoll {

/// What one rank of a program gets of the machine around its GPU, in bytes/s: the ranks of a node share host memory and drives.
struct HostRates {
  double link = 0;      ///< between the GPU and pinned host memory
  double updates = 0;   ///< of host memory, by an optimizer that is written for the CPU (DeepSpeed's CPU Adam, Colossal-AI's)
  double reads = 0;     ///< from drives
  double writes = 0;
};

HostRates host_rates(const GpuEntry& gpu, const StackSetup& setup);

/// Whether a launch is none of the GPU's kernels nor a collective.
bool is_host_work(StackKernelSort sort);

/// Seconds of such a launch.
double host_work_seconds(const StackKernel& kernel, const HostRates& rates);

}  // namespace plimsoll
