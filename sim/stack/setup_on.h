#pragma once

#include "formats/machines/machine_options.h"
#include "sim/stack/stack_setup.h"

namespace plimsoll {

/// The setup with what the machine gives a program beside its GPU: memory, drives, operating system, ranks.
StackSetup setup_on(StackSetup setup, const MachineOptions& machine);

/// The board in a slot of that machine.
GpuEntry gpu_in(GpuEntry gpu, const MachineOptions& machine);

}  // namespace plimsoll
