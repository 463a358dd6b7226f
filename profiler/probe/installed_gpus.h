#pragma once

#include <string>
#include <vector>

#include "formats/machines/machine_parts.h"

namespace plimsoll {

/// GPUs in this computer's PCIe slots, in the order of their addresses, as the kernel's /sys tells: lanes as they are
/// linked now, the generation that both ends of the link can reach, and the NUMA node. The name is the catalogue's
/// where NVIDIA's driver tells one that it knows, else the driver's, else vendor and device number. NVLinks would take
/// NVIDIA's management library, which is not linked. `root` stands before /sys and /proc, for tests.
std::vector<GpuPart> installed_gpus(const std::string& root = "");

/// "RTX 2060 6GB (PCIe 3 x16, NUMA node 0)"; what is not known is left out.
std::string gpu_text(const GpuPart& gpu);

}  // namespace plimsoll
