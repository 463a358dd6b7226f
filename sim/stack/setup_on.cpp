#include "sim/stack/setup_on.h"

#include <algorithm>

#include "formats/machines/catalogue_platform.h"
#include "sim/stack/node_placement.h"

namespace plimsoll {

StackSetup setup_on(StackSetup setup, const MachineOptions& machine) {
  setup.device_memory = machine.device_memory;
  setup.desktop = machine.desktop;
  setup.os = machine.os;
  setup.dram_gbs = machine.dram_gbs.value_or(0);
  setup.drive_read_gbs = machine.ssd_read_gbs.value_or(0) * machine.ssd_count;
  setup.drive_write_gbs = machine.ssd_write_gbs.value_or(0) * machine.ssd_count;
  if (machine.gpus > 1 && setup.data_ranks == 1) setup.data_ranks = machine.gpus;
  // What a stack needs is told of one rank, and a machine's memory, less what the system keeps, is that of all its ranks.
  if (machine.ram) {
    const Bytes usable = std::max(Bytes(0), *machine.ram - left_to_system(*machine.ram));
    setup.host_memory = Bytes{usable.count / gpus_of_node(gpus_of(setup), setup.nodes)};
  }
  return setup;
}

GpuEntry gpu_in(GpuEntry gpu, const MachineOptions& machine) {
  if (machine.pcie_generation) gpu.pcie_generation = machine.pcie_generation;
  if (machine.pcie_lanes) gpu.pcie_lanes = machine.pcie_lanes;
  return gpu;
}

}  // namespace plimsoll
