#include "profiler/probe/installed_gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "formats/machines/gpu_catalogue.h"

namespace plimsoll {
namespace {

using Path = std::filesystem::path;

// Class codes of PCI (PCI Code and ID Assignment Specification): VGA-compatible, and controllers of three dimensions.
constexpr std::array<std::string_view, 2> kGpuClasses{"0x0300", "0x0302"};
constexpr std::array<int, 5> kLinkWidths{1, 2, 4, 8, 16};
// Transfers a lane and second of each generation, in GT/s.
constexpr std::array<double, 5> kLaneRates{2.5, 5.0, 8.0, 16.0, 32.0};

/// The file's first line; empty when it cannot be read.
std::string line_of(const Path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<int> link_width(const Path& device) {
  const int lanes = std::atoi(line_of(device / "current_link_width").c_str());
  if (std::find(kLinkWidths.begin(), kLinkWidths.end(), lanes) == kLinkWidths.end()) return std::nullopt;
  return lanes;
}

/// The generation that one end of the link reaches: "16.0 GT/s PCIe" is 4; nothing when it does not tell.
std::optional<int> generation_of(const Path& device) {
  const double rate = std::atof(line_of(device / "max_link_speed").c_str());
  std::optional<int> generation;
  for (std::size_t i = 0; i < kLaneRates.size(); ++i) {
    if (rate >= kLaneRates[i]) generation = static_cast<int>(i) + 1;
  }
  return generation;
}

/// An idle GPU's link is slowed down, so what it can is asked: of itself, and of the bridge above it.
std::optional<int> link_generation(const Path& device) {
  std::error_code ignored;  // a path that cannot be resolved has no bridge
  const auto own = generation_of(device);
  const auto above = generation_of(std::filesystem::canonical(device, ignored).parent_path());
  if (!own || !above) return own;
  return std::min(*own, *above);
}

/// "Model:  NVIDIA GeForce RTX 2060" of the driver's file about this slot.
std::string drivers_name(const std::string& root, const std::string& slot) {
  std::ifstream file(root + "/proc/driver/nvidia/gpus/" + slot + "/information");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("Model:")) continue;
    const auto begin = line.find_first_not_of(" \t", line.find(':') + 1);
    return begin == std::string::npos ? "" : line.substr(begin, line.find_last_not_of(" \t\r") - begin + 1);
  }
  return "";
}

std::string name_of(const std::string& root, const Path& device) {
  const std::string name = drivers_name(root, device.filename());
  if (name.empty()) return fmt::format("PCI device {}:{}", line_of(device / "vendor"), line_of(device / "device"));
  const auto known = find_gpu(built_in_gpu_catalogue(), name);
  return known ? known->name : name;
}

bool is_gpu(const Path& device) {
  const std::string kind = line_of(device / "class");
  return std::any_of(kGpuClasses.begin(), kGpuClasses.end(), [&](std::string_view known) { return kind.starts_with(known); });
}

std::optional<std::int64_t> node_of(const Path& device) {
  const std::string text = line_of(device / "numa_node");
  const int node = text.empty() ? -1 : std::atoi(text.c_str());  // -1: the firmware does not tell
  return node < 0 ? std::nullopt : std::optional<std::int64_t>(node);
}

}  // namespace

std::vector<GpuPart> installed_gpus(const std::string& root) {
  std::error_code ignored;  // without /sys there are no slots to see
  std::vector<Path> devices;
  for (const auto& entry : std::filesystem::directory_iterator(root + "/sys/bus/pci/devices", ignored)) {
    // Graphics that a hypervisor or a board's own controller plays have no link.
    if (is_gpu(entry.path()) && link_width(entry.path())) devices.push_back(entry.path());
  }
  std::sort(devices.begin(), devices.end());
  std::vector<GpuPart> gpus;
  for (const Path& device : devices) {
    gpus.push_back({.name = name_of(root, device),
                    .pcie_generation = link_generation(device),
                    .pcie_lanes = link_width(device),
                    .numa_node = node_of(device)});
  }
  return gpus;
}

std::string gpu_text(const GpuPart& gpu) {
  std::string link;
  if (gpu.pcie_generation) link += fmt::format("PCIe {}", *gpu.pcie_generation);
  if (gpu.pcie_lanes) link += fmt::format("{}x{}", link.empty() ? "PCIe " : " ", *gpu.pcie_lanes);
  if (gpu.numa_node) link += fmt::format("{}NUMA node {}", link.empty() ? "" : ", ", *gpu.numa_node);
  return link.empty() ? gpu.name : fmt::format("{} ({})", gpu.name, link);
}

}  // namespace plimsoll
