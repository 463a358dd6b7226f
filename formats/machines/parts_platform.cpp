#include <fmt/format.h>

#include <algorithm>

#include "formats/machines/catalogue_platform.h"
#include "formats/machines/machine_parts.h"

namespace plimsoll {
namespace {

constexpr double kGiga = 1e9;

/// The nodes as one host; what only some of them state is left to the catalogue's defaults.
void add_nodes(const std::vector<NumaPart>& nodes, MachineOptions& options) {
  if (nodes.empty()) return;
  Bytes memory;
  int cores = 0;
  double gbs = 0;
  for (const NumaPart& node : nodes) {
    memory += node.memory;
    cores += static_cast<int>(node.cores);
    gbs += node.bytes_per_second.value_or(0) / kGiga;
  }
  options.ram = memory;
  options.cpu_cores = cores;
  const bool all = std::all_of(nodes.begin(), nodes.end(), [](const NumaPart& node) { return node.bytes_per_second.has_value(); });
  if (all) options.dram_gbs = gbs;
}

/// What the file says and today's plans do not use.
void note_unused(const MachineParts& parts, std::vector<std::string>& notes) {
  if (parts.gpus.size() > 1) {
    notes.push_back(fmt::format("not used yet: {} further GPUs and {} NVLinks (plans are for one device)", parts.gpus.size() - 1,
                                parts.nvlinks.size()));
  }
  if (parts.numa_nodes.size() > 1) {
    notes.push_back(fmt::format("not used yet: where GPUs and drives are among {} NUMA nodes (their memory and cores count as one host)",
                                parts.numa_nodes.size()));
  }
}

}  // namespace

MachineOptions options_of(const MachineParts& parts) {
  MachineOptions options{.pcie_generation = parts.gpus.front().pcie_generation, .pcie_lanes = parts.gpus.front().pcie_lanes};
  add_nodes(parts.numa_nodes, options);
  for (const DrivePart& drive : parts.drives) {
    options.ssd = drive.capacity;
    options.ssd_count = static_cast<int>(drive.count);
    options.direct_storage = drive.reaches_gpu;
    if (drive.queue_depth) options.ssd_queue_depth = static_cast<int>(*drive.queue_depth);
    if (drive.read_bytes_per_second) options.ssd_read_gbs = *drive.read_bytes_per_second / kGiga;
    if (drive.write_bytes_per_second) options.ssd_write_gbs = *drive.write_bytes_per_second / kGiga;
    if (drive.uplink_bytes_per_second) options.ssd_uplink_gbs = *drive.uplink_bytes_per_second / kGiga;
    if (!drive.mixed_read_bytes_per_second) continue;
    const DriveSpeeds speeds = drive_speeds(*drive.read_bytes_per_second, *drive.write_bytes_per_second,
                                            *drive.mixed_read_bytes_per_second, *drive.mixed_write_bytes_per_second);
    options.ssd_read_gbs = speeds.read / kGiga;
    options.ssd_write_gbs = speeds.write / kGiga;
    options.ssd_together = speeds.together;
  }
  return options;
}

Result<MachineParts> parts_of(const GpuEntry& gpu, const MachineOptions& options) {
  const auto described = gpu_platform(gpu, options);
  if (!described) return fail(described.error());
  const Platform& platform = described->platform;
  const MemorySpace& host = platform.at(*platform.space(SpaceKind::kHost));
  const Processor& cpu = platform.at(platform.at(*platform.queue("cpu")).processor);
  MachineParts parts{.name = gpu.name};
  parts.gpus = {{.name = gpu.name,
                 .pcie_generation = options.pcie_generation ? options.pcie_generation : gpu.pcie_generation,
                 .pcie_lanes = options.pcie_lanes ? options.pcie_lanes : gpu.pcie_lanes,
                 .numa_node = 0}};
  parts.numa_nodes = {{.memory = host.capacity, .cores = cpu.cores, .bytes_per_second = cpu.bytes_per_second}};
  if (!options.ssd) return parts;
  DrivePart drive{.capacity = *options.ssd, .count = options.ssd_count, .queue_depth = options.ssd_queue_depth, .numa_node = 0};
  for (const auto& [resource, rate] : {std::pair("ssd.read", &drive.read_bytes_per_second), std::pair("ssd.write", &drive.write_bytes_per_second)}) {
    for (const Resource& r : platform.resources) {
      if (r.name == resource) *rate = r.capacity / options.ssd_count;
    }
  }
  drive.reaches_gpu = options.direct_storage;
  if (options.ssd_uplink_gbs) drive.uplink_bytes_per_second = *options.ssd_uplink_gbs * kGiga;
  parts.drives = {drive};
  return parts;
}

Result<DescribedPlatform> platform_of(const MachineParts& parts, const GpuEntry& gpu) {
  auto described = gpu_platform(gpu, options_of(parts));
  if (!described) return described;
  if (!parts.name.empty()) described->platform.name = parts.name;
  note_unused(parts, described->defaults);
  for (std::string& note : extrapolation_notes(gpu)) described->defaults.push_back(std::move(note));
  return described;
}

}  // namespace plimsoll
