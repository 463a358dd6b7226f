#pragma once

#include <string>

#include "core/base/quantity.h"
#include "formats/machines/gpu_catalogue.h"
#include "formats/machines/machine_options.h"

namespace plimsoll {

/// Rates between host memory and a GPU, in bytes a second, as reached with pinned memory and large copies.
struct HostLink {
  double h2d = 0;
  double d2h = 0;
  double total = 0;  ///< both directions together
  Nanoseconds latency;
  std::string words;  ///< "PCIe 3.0 x16 (catalogue): 12.3 GB/s one way, 17.7 GB/s both ways together"
};

/// The link of a GPU whose options are valid: PCIe at the lower generation and lane count of board and slot, or
/// NVLink-C2C.
HostLink host_link(const GpuEntry& gpu, const MachineOptions& options);

}  // namespace plimsoll
