#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "formats/machines/gpu_catalogue.h"
#include "formats/machines/machine_options.h"
#include "formats/machines/platform_parts.h"
#include "formats/machines/stated_gpu.h"
#include "formats/text/json_node.h"

namespace plimsoll {

/// A GPU in its slot.
struct GpuPart {
  std::string name;  ///< as in the catalogue, or another with figures of its own
  std::optional<StatedGpu> stated;
  std::optional<int> pcie_generation;
  std::optional<int> pcie_lanes;
  std::optional<std::int64_t> numa_node;
};

/// Two GPUs joined by NVLink, by their positions in the list of GPUs.
struct NvlinkPart {
  std::int64_t first = 0;
  std::int64_t second = 0;
  double bytes_per_second = 0;  ///< in each direction
};

/// A NUMA node: memory and the cores beside it.
struct NumaPart {
  Bytes memory;
  std::int64_t cores = 1;  ///< 0: memory alone
  std::optional<double> bytes_per_second;  ///< reached, not nominal
};

/// Drives that data is striped over.
struct DrivePart {
  Bytes capacity;  ///< of all together
  std::int64_t count = 1;
  std::optional<std::int64_t> queue_depth;  ///< transfers in flight, each way
  std::optional<double> read_bytes_per_second;  ///< of one drive
  std::optional<double> write_bytes_per_second;
  std::optional<double> mixed_read_bytes_per_second;  ///< of one drive while it writes as well,
  std::optional<double> mixed_write_bytes_per_second;  ///< and while it reads
  std::optional<double> uplink_bytes_per_second;  ///< that all of them share, both ways together
  bool reaches_gpu = false;  ///< without host memory (GPUDirect Storage)
  std::optional<std::int64_t> numa_node;
};

/// A machine as a person states it.
struct MachineParts {
  std::string name;
  std::vector<GpuPart> gpus;
  std::vector<NvlinkPart> nvlinks;
  std::vector<NumaPart> numa_nodes;
  std::vector<DrivePart> drives;
};

/// True when a machine file states parts and not spaces, links and queues.
bool states_parts(std::string_view text);

/// Reads a machine file that states parts. Positions and nodes that are not there are refused.
Result<MachineParts> read_machine_parts(std::string_view text, const std::string& where);
std::string write_machine_parts(const MachineParts& parts);

/// The value of "parts" alone; lines after the first start with `indent` spaces.
std::string write_parts(const MachineParts& parts, std::size_t indent);
/// Reads it; a machine without GPUs is one, too.
MachineParts read_parts(const JsonNode& node);

/// The machine as plans see it, by way of the catalogue: the first GPU, all nodes' memory and cores as one host, the
/// drives. What is stated and not used yet is said among the defaults.
Result<DescribedPlatform> platform_of(const MachineParts& parts, const GpuEntry& gpu);

/// What is around the first GPU, as options say it.
MachineOptions options_of(const MachineParts& parts);

/// What the options say about the machine around a GPU, and the catalogue's defaults, as parts to be edited.
Result<MachineParts> parts_of(const GpuEntry& gpu, const MachineOptions& options);

}  // namespace plimsoll
