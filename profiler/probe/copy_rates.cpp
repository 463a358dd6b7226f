#include "profiler/probe/copy_rates.h"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll {
namespace {

constexpr double kGiga = 1e9;
constexpr double kNoticed = 1.05;

/// Nothing is faster beside other work than alone: what says so is noise.
CopyRates plausible(CopyRates rates) {
  const auto at_most = [](double& beside, double alone) { beside = std::min(beside, alone); };
  for (double* beside : {&rates.up_beside_down, &rates.up_beside_adam}) at_most(*beside, rates.up);
  for (double* beside : {&rates.down_beside_up, &rates.down_beside_adam}) at_most(*beside, rates.down);
  for (double* beside : {&rates.adam_beside_up, &rates.adam_beside_down}) at_most(*beside, rates.adam);
  return rates;
}

Resource& resource(Platform& platform, std::string_view name) {
  return *std::find_if(platform.resources.begin(), platform.resources.end(), [&](const Resource& one) { return one.name == name; });
}

Link& link(Platform& platform, SpaceKind from, SpaceKind to) {
  return platform.links[platform.link(*platform.space(from), *platform.space(to))->index];
}

Queue& queue(Platform& platform, std::string_view name) { return platform.queues[platform.queue(name)->index]; }

/// What of `demands` asks of that resource.
double& amount_of(std::vector<Demand>& demands, const Platform& platform, std::string_view name) {
  return std::find_if(demands.begin(), demands.end(), [&](const Demand& demand) { return platform.at(demand.resource).name == name; })
      ->amount;
}

void take_ways(Platform& platform, const CopyRates& rates) {
  link(platform, SpaceKind::kHost, SpaceKind::kDevice).bytes_per_second = rates.up;
  link(platform, SpaceKind::kDevice, SpaceKind::kHost).bytes_per_second = rates.down;
  resource(platform, "pcie.h2d").capacity = rates.up;
  resource(platform, "pcie.d2h").capacity = rates.down;
  resource(platform, "pcie.total").capacity = rates.up_beside_down + rates.down_beside_up;
}

void take_host_memory(Platform& platform, const CopyRates& rates) {
  Resource& dram = resource(platform, "dram");
  const bool slowed = rates.up > kNoticed * rates.up_beside_adam || rates.adam > kNoticed * rates.adam_beside_up;
  const double both = rates.adam_beside_up + rates.up_beside_adam;
  dram.capacity = slowed ? both : std::max(dram.capacity, both);
  amount_of(queue(platform, "cpu").demands, platform, "dram") = rates.adam;
  const double left = (dram.capacity - rates.adam_beside_down) / rates.down_beside_adam;
  amount_of(link(platform, SpaceKind::kDevice, SpaceKind::kHost).path, platform, "dram") = std::clamp(left, 0.0, 1.0);
}

/// Where a resource is short, work runs at a common level times its weight, and a transfer's weight is its queue's times the fastest
/// link's rate over its own (`WorkTable`). So a copy's weight is to the CPU's as their speeds beside one another.
void take_weights(Platform& platform, const CopyRates& rates) {
  double fastest = 0;
  for (const Link& each : platform.links) fastest = std::max(fastest, each.bytes_per_second);
  queue(platform, "cpu").weight = 1.0;
  queue(platform, "h2d").weight = rates.up_beside_adam / fastest * rates.adam / rates.adam_beside_up;
  queue(platform, "d2h").weight = rates.down_beside_adam / fastest * rates.adam / rates.adam_beside_down;
}

}  // namespace

void take_copy_rates(Platform& platform, const CopyRates& rates) {
  const CopyRates sound = plausible(rates);
  take_ways(platform, sound);
  take_host_memory(platform, sound);
  take_weights(platform, sound);
}

std::string words_of(const CopyRates& rates) {
  return fmt::format(
      "copies measured just now: {:.1f} GB/s to the GPU and {:.1f} from it, {:.1f} and {:.1f} at once; the CPU's Adam moves {:.1f}, {:.1f} "
      "beside copies to the GPU ({:.1f}) and {:.1f} beside copies from it ({:.1f})",
      rates.up / kGiga, rates.down / kGiga, rates.up_beside_down / kGiga, rates.down_beside_up / kGiga, rates.adam / kGiga,
      rates.adam_beside_up / kGiga, rates.up_beside_adam / kGiga, rates.adam_beside_down / kGiga, rates.down_beside_adam / kGiga);
}

}  // namespace plimsoll
