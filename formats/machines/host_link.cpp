#include "formats/machines/host_link.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/machines/constant_table.h"

namespace plimsoll {
namespace {

constexpr double kGiga = 1e9;
constexpr int kNewestPcie = 5;

HostLink chip_to_chip() {
  const auto& defaults = machine_defaults();
  HostLink link{.h2d = defaults.at("c2c.h2d") * kGiga,
                .d2h = defaults.at("c2c.d2h") * kGiga,
                .total = defaults.at("c2c.total") * kGiga,
                .latency = from_seconds(defaults.at("pcie.latency") * 1e-6),
                .words = {}};
  link.words = fmt::format("NVLink-C2C (catalogue): {:.0f} GB/s to the device, {:.0f} GB/s back", link.h2d / kGiga,
                           link.d2h / kGiga);
  return link;
}

/// The laptop's wiring is rarely that of the chip.
int board_lanes(const GpuEntry& gpu) {
  const int lanes = gpu.pcie_lanes.value_or(16);
  if (gpu.board != GpuBoard::kLaptop) return lanes;
  return std::min(lanes, static_cast<int>(machine_defaults().at("lanes.laptop")));
}

std::string origin_of(const GpuEntry& gpu, const MachineOptions& options) {
  if (options.pcie_generation && options.pcie_lanes) return "as given, at most what the board has";
  if (options.pcie_generation || options.pcie_lanes) return "partly given, else catalogue";
  return gpu.board == GpuBoard::kLaptop ? "assumed for a laptop" : "catalogue";
}

}  // namespace

HostLink host_link(const GpuEntry& gpu, const MachineOptions& options) {
  if (!gpu.pcie_generation && gpu.nvlink_gbs && !options.pcie_generation) return chip_to_chip();
  const auto& defaults = machine_defaults();
  const int board_generation = std::min(gpu.pcie_generation.value_or(kNewestPcie), kNewestPcie);
  const int generation = std::min(options.pcie_generation.value_or(board_generation), board_generation);
  // A user who names the lanes of a laptop knows its wiring.
  const int chip_lanes = gpu.pcie_lanes.value_or(16);
  const int lanes = options.pcie_lanes ? std::min(*options.pcie_lanes, chip_lanes) : board_lanes(gpu);
  const double one_way = kGiga * lanes * defaults.at(fmt::format("pcie.lane.{}", generation)) *
                         defaults.at(fmt::format("pcie.reached.{}", generation));
  const double total = 2 * one_way * defaults.at(fmt::format("pcie.duplex.{}", generation));
  return {.h2d = one_way,
          .d2h = one_way,
          .total = total,
          .latency = from_seconds(defaults.at("pcie.latency") * 1e-6),
          .words = fmt::format("PCIe {}.0 x{} ({}): {:.1f} GB/s one way, {:.1f} GB/s both ways together", generation,
                               lanes, origin_of(gpu, options), one_way / kGiga, total / kGiga)};
}

}  // namespace plimsoll
