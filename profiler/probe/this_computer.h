#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/quantity.h"
#include "core/base/result.h"
#include "formats/machines/cpu_topology.h"
#include "formats/machines/machine_probe.h"
#include "formats/machines/platform_parts.h"
#include "profiler/probe/attached_drive.h"

namespace plimsoll {

/// What this process may use of the computer it runs on, at the moment of asking.
struct ThisComputer {
  std::string cpu_model;
  std::int64_t logical_cores = 1;   ///< that the scheduler and the cgroup's quota let it run on at once
  std::int64_t physical_cores = 1;  ///< of these, without the second threads of a core
  double mhz = 0;                   ///< 0: unknown
  bool avx2 = false;
  bool avx512 = false;
  Bytes memory_total;
  Bytes memory_available;    ///< the least of what is free and what the control groups still allow
  std::string memory_bound;  ///< which of them that is (AvailableMemory::bound)
  CpuTopology topology;      ///< of the cores that the scheduler lets it use
  std::vector<GpuPart> gpus;
};

/// Asks hwloc, /proc, and cgroups of version 1 and 2. Throws EnvironmentError when /proc cannot be read.
ThisComputer probe_this_computer();

/// What a user says about the arenas and threads; what is left out is taken from what is available.
struct ComputerOptions {
  std::optional<Bytes> device_memory;  ///< size of the arena that plays the device
  std::optional<Bytes> ram;            ///< size of the host's
  std::optional<std::int64_t> threads;
  std::optional<AttachedDrive> drive;   ///< where SSD data may go; nothing: plans keep all in memory
  const MachineProbe* probe = nullptr;  ///< what was measured of this very computer; null: rates are assumed
};

/// This computer as plans see it: the device gpu0 is an arena of its own memory in which the CPU computes, beside host.
/// Queues compute, h2d, d2h, cpu, data, report, and ssd.read and ssd.write where there is a drive; they share cores and
/// DRAM. Both arenas together leave a part of the available memory free; more is an error of kind kInfeasible that says
/// what there is. Memory rates, and how copies and kernels slow each other, are the probe's; its pairs hold for the
/// number of workers that they were measured with.
Result<DescribedPlatform> computer_platform(const ThisComputer& computer, const ComputerOptions& options = {});

/// computer_platform of what probe_this_computer finds.
Result<DescribedPlatform> this_computer_platform(const ComputerOptions& options = {});

}  // namespace plimsoll
