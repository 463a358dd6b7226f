#include "profiler/probe/copy_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

/// No way over a direction of the slot is faster than that, a drive's straight to the device among them.
void limit_ways(Platform& platform, std::string_view direction) {
  const double capacity = resource(platform, direction).capacity;
  for (Link& way : platform.links) {
    const bool passes = std::any_of(way.path.begin(), way.path.end(), [&](const Demand& demand) { return platform.at(demand.resource).name == direction; });
    if (passes) way.bytes_per_second = std::min(way.bytes_per_second, capacity);
  }
}

void take_ways(Platform& platform, const CopyRates& rates) {
  link(platform, SpaceKind::kHost, SpaceKind::kDevice).bytes_per_second = rates.up;
  link(platform, SpaceKind::kDevice, SpaceKind::kHost).bytes_per_second = rates.down;
  resource(platform, "pcie.h2d").capacity = rates.up;
  resource(platform, "pcie.d2h").capacity = rates.down;
  resource(platform, "pcie.total").capacity = std::max({rates.up, rates.down, rates.up_beside_down + rates.down_beside_up});
  for (const std::string_view direction : {"pcie.h2d", "pcie.d2h"}) limit_ways(platform, direction);
}

/// A way's copies beside Adam.
struct Pair {
  double copies, copies_alone, adam, adam_alone;
  [[nodiscard]] bool slowed() const { return copies_alone > kNoticed * copies || adam_alone > kNoticed * adam; }
  /// What a copied byte takes of host memory: all that Adam leaves, or no more than itself where nobody noticed.
  [[nodiscard]] double amount(double capacity) const {
    return std::clamp((capacity - adam) / copies, 0.0, slowed() ? capacity / copies_alone : 1.0);
  }
};

void take_host_memory(Platform& platform, const CopyRates& rates) {
  const Pair up{rates.up_beside_adam, rates.up, rates.adam_beside_up, rates.adam};
  const Pair down{rates.down_beside_adam, rates.down, rates.adam_beside_down, rates.adam};
  const double moved = std::max({rates.adam, up.copies + up.adam, down.copies + down.adam});
  Resource& dram = resource(platform, "dram");
  dram.capacity = up.slowed() || down.slowed() ? moved : std::max(dram.capacity, moved);
  amount_of(queue(platform, "cpu").demands, platform, "dram") = rates.adam;
  amount_of(link(platform, SpaceKind::kHost, SpaceKind::kDevice).path, platform, "dram") = up.amount(dram.capacity);
  amount_of(link(platform, SpaceKind::kDevice, SpaceKind::kHost).path, platform, "dram") = down.amount(dram.capacity);
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

bool take_copy_rates(Platform& platform, const CopyRates& rates) {
  const CopyRates sound = plausible(rates);
  for (const double rate : {sound.up_beside_down, sound.down_beside_up, sound.up_beside_adam, sound.adam_beside_up, sound.down_beside_adam, sound.adam_beside_down}) {
    if (!(rate > 0) || !std::isfinite(rate)) return false;
  }
  take_ways(platform, sound);
  take_host_memory(platform, sound);
  take_weights(platform, sound);
  return true;
}

std::string words_of(const CopyRates& rates) {
  return fmt::format(
      "copies measured just now: {:.1f} GB/s to the GPU and {:.1f} from it, {:.1f} and {:.1f} at once; the CPU's Adam moves {:.1f}, {:.1f} "
      "beside copies to the GPU ({:.1f}) and {:.1f} beside copies from it ({:.1f})",
      rates.up / kGiga, rates.down / kGiga, rates.up_beside_down / kGiga, rates.down_beside_up / kGiga, rates.adam / kGiga,
      rates.adam_beside_up / kGiga, rates.up_beside_adam / kGiga, rates.adam_beside_down / kGiga, rates.down_beside_adam / kGiga);
}

}  // namespace plimsoll
