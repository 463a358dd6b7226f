#pragma once

#include "formats/machines/machine_parts.h"
#include "formats/machines/machine_probe.h"

namespace plimsoll {

/// A probed computer by its parts: NUMA nodes, each with the share of the measured DRAM rate that its share of the cores
/// is (the sum is what was measured).
MachineParts measured_parts(const std::vector<NumaPart>& nodes, const MachineProbe& probe);

}  // namespace plimsoll
