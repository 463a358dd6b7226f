#include "profiler/probe/shared_demands.h"

#include <algorithm>

namespace plimsoll {
namespace {

/// Of a resource that is short, what a copy gets at least: with nothing, it would not be slowed at all.
constexpr double kLeastShare = 0.01;

/// Together at least the speed of one after the other: fair shares of one resource cannot be worse.
PairSlowdown achievable(const PairSlowdown& pair) {
  const double speeds = 1.0 / pair.work + 1.0 / pair.copy;
  const double scale = std::min(1.0, speeds);
  return {.work = std::max(1.0, pair.work * scale), .copy = std::max(1.0, pair.copy * scale)};
}

/// What one of two asks of a resource of `capacity` that both fill when it is slowed by `own` and the other, which asks
/// for `others_demand`, by `others`: own use + other's use = capacity, where use = demand ÷ slowdown.
double demand_beside(double capacity, double own, double others_demand, double others) {
  return std::clamp(own * (capacity - others_demand / others), kLeastShare * capacity, capacity);
}

/// Nobody was slowed, and nobody lacks a core.
bool is_free(const PairSlowdown& pair) { return pair.work <= 1.0 && pair.copy <= 1.0; }

}  // namespace

double dram_rate(const MemoryRates& memory) { return std::max(memory.read.median, memory.copy_traffic.median); }

SharedDemands assumed_demands(std::int64_t workers, double cores) {
  const double held = std::min(static_cast<double>(workers), cores);
  return {.compute_cores = held, .cpu_cores = held, .copy_cores = 1.0};
}

SharedDemands measured_demands(const MemoryRates& memory, std::int64_t workers, double cores) {
  SharedDemands demands = assumed_demands(workers, cores);
  const PairSlowdown product = achievable(memory.product), optimizer = achievable(memory.optimizer);
  const bool cores_short = static_cast<double>(workers) + 1.0 > cores;
  if (!cores_short && is_free(product) && is_free(optimizer)) return demands;
  demands.copy_weight = product.work / product.copy;
  demands.cpu_weight = demands.copy_weight * optimizer.copy / optimizer.work;
  if (cores_short) {
    // The product keeps its workers' cores unless that leaves the copy too little.
    const double most = cores * (1.0 - kLeastShare) * product.work;
    demands.compute_cores = std::min(demands.compute_cores, most);
    demands.copy_cores = demand_beside(cores, product.copy, demands.compute_cores, product.work);
    demands.cpu_cores = demand_beside(cores, optimizer.work, demands.copy_cores, optimizer.copy);
    return demands;
  }
  const double dram = dram_rate(memory);
  const double copy = std::min(dram, 2.0 * memory.copy.median);
  demands.compute_dram = demand_beside(dram, product.work, copy, product.copy);
  demands.cpu_dram = demand_beside(dram, optimizer.work, copy, optimizer.copy);
  return demands;
}

}  // namespace plimsoll
