#pragma once

#include <cstdint>

#include "formats/machines/machine_probe.h"

namespace plimsoll {

/// What the queues of this computer ask of its shared resources, in cores and in DRAM bytes a second, and how they
/// share what is short (Queue::weight; kernels of the compute queue have 1).
struct SharedDemands {
  double compute_cores = 1.0;
  double cpu_cores = 1.0;
  double copy_cores = 1.0;
  double compute_dram = 0.0;
  double cpu_dram = 0.0;
  double cpu_weight = 1.0;
  double copy_weight = 1.0;
};

/// Bytes a second that memory moves at most, whichever of the measured mixes reached more.
double dram_rate(const MemoryRates& memory);

/// Each worker and each copy holds one core, as far as there are cores.
SharedDemands assumed_demands(std::int64_t workers, double cores);

/// Demands under which fair shares slow a kernel of the compute queue and a copy exactly as they slowed each other when
/// measured, and one of the cpu queue and a copy as nearly as whole resources allow. With a core to spare beside the
/// workers the short resource is DRAM, else the cores. A pair that was slower together than one after the other is
/// taken to be as fast as that.
SharedDemands measured_demands(const MemoryRates& memory, std::int64_t workers, double cores);

}  // namespace plimsoll
