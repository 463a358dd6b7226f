#include "sim/stack/collective_seconds.h"

#include "sim/cost/efficiencies.h"

namespace plimsoll {
namespace {

constexpr double kGiga = 1e9;
constexpr double kMicro = 1e-6;
constexpr int kUsualGeneration = 4;
constexpr int kUsualLanes = 16;

/// GB/s of a lane in one direction: generation 3 has 8 GT/s in 128b/130b, each later one twice that.
double pcie_gbs(const GpuEntry& gpu) {
  double lane = 8.0 * 128 / 130 / 8;
  for (int generation = 3; generation < gpu.pcie_generation.value_or(kUsualGeneration); ++generation) lane *= 2;
  return lane * gpu.pcie_lanes.value_or(kUsualLanes);
}

bool has_links_to_all(const GpuEntry& gpu) {
  const bool module = gpu.board == GpuBoard::kDatacenter && gpu.name.find("PCIe") == std::string::npos;
  return module && gpu.nvlink_gbs.value_or(0) > 0;
}

}  // namespace

double ring_rate(const GpuEntry& gpu) {
  const ConstantTable& constants = cost_constants();
  if (has_links_to_all(gpu)) return constants.at("stack.ring.nvlink") * *gpu.nvlink_gbs / 2 * kGiga;
  const bool through_host = gpu.board == GpuBoard::kGeForce || gpu.board == GpuBoard::kLaptop;
  return constants.at(through_host ? "stack.ring.host" : "stack.ring.pcie") * pcie_gbs(gpu) * kGiga;
}

double host_link_rate(const GpuEntry& gpu) { return cost_constants().at("stack.host_link") * pcie_gbs(gpu) * kGiga; }

double collective_seconds(double bytes, const GpuEntry& gpu) {
  return cost_constants().at("stack.ring.latency") * kMicro + bytes / ring_rate(gpu);
}

}  // namespace plimsoll
