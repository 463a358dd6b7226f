#include "session/probe/measured_parts.h"

#include "profiler/probe/shared_demands.h"

namespace plimsoll {

MachineParts measured_parts(const std::vector<NumaPart>& nodes, const MachineProbe& probe) {
  MachineParts parts{.numa_nodes = nodes};
  std::int64_t cores = 0;
  for (const NumaPart& node : nodes) cores += node.cores;
  for (NumaPart& node : parts.numa_nodes) {
    if (node.cores == 0) continue;  // who reads memory without cores was not measured
    node.bytes_per_second = dram_rate(probe.memory) * static_cast<double>(node.cores) / static_cast<double>(cores);
  }
  return parts;
}

}  // namespace plimsoll
