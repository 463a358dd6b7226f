#pragma once

#include "formats/machines/machine_parts.h"
#include "formats/machines/machine_probe.h"
#include "profiler/probe/this_computer.h"

namespace plimsoll {

/// A probed computer by its parts: GPUs in their slots; NUMA nodes, each with the share of the measured DRAM rate that
/// its share of the cores is (the sum is what was measured); the drive, if one was probed, with what was free on it.
MachineParts measured_parts(const ThisComputer& computer, const MachineProbe& probe);

/// The probed drive for plans to put data on.
AttachedDrive attached(const ProbedDrive& drive);

}  // namespace plimsoll
