#pragma once

#include <optional>

#include "core/base/quantity.h"
#include "core/base/result.h"
#include "core/platform/operating_system.h"
#include "formats/machines/gpu_catalogue.h"

namespace plimsoll {

/// What a user says about the machine around a GPU; what is left out is taken from the catalogue's defaults.
struct MachineOptions {
  std::optional<Bytes> ram;
  std::optional<Bytes> ssd;            ///< capacity of all drives together; nothing: no drive
  std::optional<Bytes> device_memory;  ///< cap on what of the GPU's memory may be used
  std::optional<double> ssd_read_gbs;  ///< of one drive
  std::optional<double> ssd_write_gbs;
  std::optional<int> pcie_generation;
  std::optional<int> pcie_lanes;
  std::optional<int> cpu_cores;
  std::optional<double> dram_gbs;  ///< reached, not nominal
  bool desktop = false;            ///< the GPU drives a desktop too
  OperatingSystem os = OperatingSystem::kLinux;
  int gpus = 1;                    ///< of the same kind, in slots like the first one's
  int ssd_count = 1;               ///< drives that data is striped over
  double ssd_together = 1;         ///< drive-seconds a second and drive while it reads and writes at once, 1 to 2
  std::optional<double> ssd_uplink_gbs;  ///< that all drives share, both ways together: their switch's, or their striping's
  int ssd_queue_depth = 4;         ///< transfers in flight each way
  bool direct_storage = false;     ///< drives and GPU exchange data without host memory (GPUDirect Storage)
};

/// Checks ranges, and that a cap is no larger than the GPU's memory.
Result<void> validate(const MachineOptions& options, const GpuEntry& gpu);

}  // namespace plimsoll
