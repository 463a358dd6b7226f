#include "sim/stack/setup_on.h"

namespace plimsoll {

StackSetup setup_on(StackSetup setup, const MachineOptions& machine) {
  setup.device_memory = machine.device_memory;
  setup.desktop = machine.desktop;
  setup.os = machine.os;
  setup.host_memory = machine.ram;
  setup.dram_gbs = machine.dram_gbs.value_or(0);
  setup.drive_read_gbs = machine.ssd_read_gbs.value_or(0) * machine.ssd_count;
  setup.drive_write_gbs = machine.ssd_write_gbs.value_or(0) * machine.ssd_count;
  if (machine.gpus > 1 && setup.data_ranks == 1) setup.data_ranks = machine.gpus;
  return setup;
}

GpuEntry gpu_in(GpuEntry gpu, const MachineOptions& machine) {
  if (machine.pcie_generation) gpu.pcie_generation = machine.pcie_generation;
  if (machine.pcie_lanes) gpu.pcie_lanes = machine.pcie_lanes;
  return gpu;
}

}  // namespace plimsoll
