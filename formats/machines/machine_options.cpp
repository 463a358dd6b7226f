#include "formats/machines/machine_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace plimsoll {
namespace {

constexpr int kNewestPcie = 5;
constexpr int kMostCores = 4096;
constexpr int kMostDrives = 64;
constexpr int kMostGpus = 65536;
constexpr int kDeepestQueue = 1024;
constexpr double kFastestGbs = 1e5;

Result<void> refuse(std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = std::move(remedy)});
}

Result<void> check_count(std::string_view name, std::optional<int> count, int most) {
  if (!count || (*count >= 1 && *count <= most)) return {};
  return refuse(fmt::format("{} cannot be {}", name, *count), fmt::format("give 1 to {}", most));
}

Result<void> check_rate(std::string_view name, std::optional<double> gbs) {
  if (!gbs || (*gbs > 0 && *gbs <= kFastestGbs)) return {};
  return refuse(fmt::format("{} cannot be {} GB/s", name, *gbs), "give a positive rate");
}

Result<void> check_bytes(std::string_view name, std::optional<Bytes> bytes) {
  if (!bytes || (*bytes > Bytes(0) && *bytes <= kMaxParsedBytes)) return {};
  return refuse(fmt::format("{} cannot be {}", name, to_text(*bytes)), "give a positive size");
}

Result<void> check_lanes(std::optional<int> lanes) {
  static constexpr std::array<int, 5> kLanes{1, 2, 4, 8, 16};
  if (!lanes || std::find(kLanes.begin(), kLanes.end(), *lanes) != kLanes.end()) return {};
  return refuse(fmt::format("a PCIe slot cannot have {} lanes", *lanes), "give 1, 2, 4, 8 or 16");
}

/// Without a drive there is no way; NVIDIA's cuFile is for its own boards, and under Linux alone.
Result<void> check_direct_storage(const MachineOptions& options, const GpuEntry& gpu) {
  if (!options.direct_storage) return {};
  if (!options.ssd) return refuse("direct storage is a way from a drive to the GPU, and there is no drive", "name one with --ssd 2TB");
  if (is_simulated_only(gpu)) {
    return refuse(fmt::format("direct storage goes by NVIDIA's cuFile, which is not for {}", gpu.name),
                  "leave --direct-storage (in a machine file \"reaches_gpu\") out");
  }
  if (options.os == OperatingSystem::kLinux) return {};
  return refuse(fmt::format("direct storage goes by NVIDIA's cuFile, which is not there under {}", to_text(options.os)),
                "leave --direct-storage out, or describe a machine under Linux: --os linux");
}

}  // namespace

Result<void> validate(const MachineOptions& options, const GpuEntry& gpu) {
  const std::array<Result<void>, 13> checks{
      check_bytes("RAM", options.ram),
      check_bytes("the drive", options.ssd),
      check_bytes("device memory", options.device_memory),
      check_rate("the drive's read rate", options.ssd_read_gbs),
      check_rate("the drive's write rate", options.ssd_write_gbs),
      check_rate("the drives' uplink", options.ssd_uplink_gbs),
      check_rate("DRAM bandwidth", options.dram_gbs),
      check_count("the PCIe generation", options.pcie_generation, kNewestPcie),
      check_lanes(options.pcie_lanes),
      check_count("the number of CPU cores", options.cpu_cores, kMostCores),
      check_count("the number of drives", options.ssd_count, kMostDrives),
      check_count("the number of GPUs", options.gpus, kMostGpus),
      check_count("the drive's queue depth", options.ssd_queue_depth, kDeepestQueue),
  };
  for (const auto& check : checks) {
    if (!check) return check;
  }
  if (options.device_memory && *options.device_memory > gpu.memory) {
    return refuse(fmt::format("device memory cannot be capped at {}: {} has {}", to_text(*options.device_memory),
                              gpu.name, to_text(gpu.memory)),
                  "leave the cap out or lower it");
  }
  if (!options.ssd && (options.ssd_read_gbs || options.ssd_write_gbs)) {
    return refuse("a drive's rates are given without its capacity", "give the drive's capacity too");
  }
  return check_direct_storage(options, gpu);
}

}  // namespace plimsoll
