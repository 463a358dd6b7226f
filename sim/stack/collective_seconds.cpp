#include "sim/stack/collective_seconds.h"

#include <algorithm>
#include <cmath>

#include "sim/cost/efficiencies.h"
#include "sim/stack/link_mesh.h"

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

/// How many GPUs lie between neighbours of a collective.
std::int64_t stride_of(const StackKernel& kernel, const StackSetup& setup) {
  if (kernel.among == Among::kTensor) return 1;
  if (kernel.among == Among::kStages) return setup.tensor_ranks * setup.context_ranks * setup.data_ranks;
  const std::int64_t each = setup.expert_tensor_ranks.value_or(setup.tensor_ranks);
  if (kernel.among == Among::kExperts) return kernel.pairs ? each : 1;
  if (kernel.among == Among::kExpertCopies) return each * setup.expert_ranks;
  // Where context ranks have the same parameters they take part.
  return setup.tensor_ranks * std::max<std::int64_t>(1, setup.context_ranks * setup.data_ranks / kernel.ranks);
}

/// Latencies of the steps from node to node.
double steps_over_nodes(const StackKernel& kernel, std::int64_t nodes, const LinkLevel& network) {
  const double ring = static_cast<double>(nodes - 1) * kernel.rounds;
  const double tree = 2 * std::log2(static_cast<double>(nodes));
  return (kernel.rounds == 2 ? std::min(ring, tree) : ring) * network.latency;
}

/// An all-to-all: what leaves the node goes through the rank's own adapter, beside what stays.
double exchange_seconds(const StackKernel& kernel, std::int64_t near, double inside, const NodePlacement& placed) {
  const double others = static_cast<double>(kernel.ranks - 1), within = static_cast<double>(near - 1);
  const double stays = kernel.bytes * within / others / inside;
  if (near >= kernel.ranks || !placed.network) return stays;
  return placed.network->latency + std::max(stays, kernel.bytes * (others - within) / others / placed.network->rate);
}

}  // namespace

bool has_links_to_all(const GpuEntry& gpu) {
  const bool module = gpu.board == GpuBoard::kDatacenter && gpu.name.find("PCIe") == std::string::npos;
  return module && gpu.nvlink_gbs.value_or(0) > 0;
}

double nvlink_ring_rate(const GpuEntry& gpu) { return cost_constants().at("stack.ring.nvlink") * gpu.nvlink_gbs.value_or(0) / 2 * kGiga; }

double ring_rate(const GpuEntry& gpu) {
  const ConstantTable& constants = cost_constants();
  if (has_links_to_all(gpu)) return nvlink_ring_rate(gpu);
  const bool through_host = gpu.board == GpuBoard::kGeForce || gpu.board == GpuBoard::kLaptop;
  return constants.at(through_host ? "stack.ring.host" : "stack.ring.pcie") * pcie_gbs(gpu) * kGiga;
}

double host_link_rate(const GpuEntry& gpu) { return cost_constants().at("stack.host_link") * pcie_gbs(gpu) * kGiga; }

double collective_seconds(const StackKernel& kernel, const StackSetup& setup, const GpuEntry& gpu, const NodePlacement& placed) {
  const std::int64_t stride = stride_of(kernel, setup), near = placed.ranks_per_node(kernel.ranks, stride);
  const double start = cost_constants().at("stack.ring.latency") * kMicro;
  const double inside = placed.peers ? *placed.peers : has_link_mesh(gpu) ? mesh_rate(gpu, near, stride) : ring_rate(gpu);
  if (kernel.pairs) return start + exchange_seconds(kernel, near, inside, placed);
  const std::int64_t nodes = (kernel.ranks + near - 1) / near;
  if (nodes == 1 || !placed.network) return start + kernel.bytes / inside;
  const double adapters = static_cast<double>(near) * placed.network->rate;
  const double rate = near == 1 ? placed.network->rate : std::min(inside, adapters);
  return start + steps_over_nodes(kernel, nodes, *placed.network) + kernel.bytes / rate;
}

}  // namespace plimsoll
