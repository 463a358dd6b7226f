#pragma once

#include <string>

#include "formats/machines/cpu_topology.h"

namespace plimsoll {

/// What hwloc finds of this computer that the process may run on: what neither its CPU binding nor a cpuset of its
/// control group forbids. A quota of CPU time is not seen here. Throws EnvironmentError when hwloc finds nothing.
CpuTopology hardware_topology();

/// The same of a machine in hwloc's words ("package:2 [numa] l3:1 core:8 pu:2"), for tests.
CpuTopology hardware_topology_of(const std::string& description);

}  // namespace plimsoll
