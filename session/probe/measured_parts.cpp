#include "session/probe/measured_parts.h"

#include "profiler/probe/shared_demands.h"

namespace plimsoll {
namespace {

void share_dram(double rate, std::vector<NumaPart>& nodes) {
  std::int64_t cores = 0;
  for (const NumaPart& node : nodes) cores += node.cores;
  for (NumaPart& node : nodes) {
    // What cores of other nodes reach of memory that has none was not measured.
    if (node.cores > 0) node.bytes_per_second = rate * static_cast<double>(node.cores) / static_cast<double>(cores);
  }
}

}  // namespace

MachineParts measured_parts(const ThisComputer& computer, const MachineProbe& probe) {
  MachineParts parts{.name = probe.platform.name, .gpus = computer.gpus, .numa_nodes = computer.topology.numa_nodes};
  share_dram(dram_rate(probe.memory), parts.numa_nodes);
  const auto nodes = static_cast<std::int64_t>(parts.numa_nodes.size());
  for (GpuPart& gpu : parts.gpus) {
    if (gpu.numa_node && *gpu.numa_node >= nodes) gpu.numa_node = std::nullopt;  // beside CPUs that are not ours
  }
  if (!probe.drive) return parts;
  parts.drives = {{.capacity = probe.drive->free,
                   .queue_depth = kDriveWidth,
                   .read_bytes_per_second = probe.drive->read.median,
                   .write_bytes_per_second = probe.drive->write.median,
                   .mixed_read_bytes_per_second = probe.drive->mixed_read.median,
                   .mixed_write_bytes_per_second = probe.drive->mixed_write.median}};
  return parts;
}

AttachedDrive attached(const ProbedDrive& drive) {
  const DriveSpeeds speeds = drive_speeds(drive.read.median, drive.write.median, drive.mixed_read.median, drive.mixed_write.median);
  return {.usable = drive.free, .read_bytes_per_second = speeds.read, .write_bytes_per_second = speeds.write, .together = speeds.together};
}

}  // namespace plimsoll
