#include "sim/des/fair_share.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace plimsoll {
namespace {

/// Levels this near to each other are one: their difference is rounding of sums, and settling them together saves
/// rounds.
constexpr double kSame = 1.0 + 1e-12;
constexpr double kUnsettled = -1.0;

}  // namespace

void add_demand(std::vector<Demand>& demands, const Demand& added) {
  for (Demand& demand : demands) {
    if (demand.resource == added.resource) {
      demand.amount += added.amount;
      return;
    }
  }
  demands.push_back(added);
}

FairShare::FairShare(std::span<const Resource> resources) {
  pools_.reserve(resources.size());
  for (const Resource& resource : resources) pools_.push_back({.capacity = std::max(0.0, resource.capacity)});
}

double FairShare::wanted(const Demand& demand) const {
  return std::min(demand.amount, pools_[demand.resource.index].capacity);
}

bool FairShare::solve(std::span<const Activity> activities, std::span<double> speeds) {
  if (add_loads(activities)) {
    std::fill(speeds.begin(), speeds.end(), 1.0);
    return true;
  }
  fill(activities, speeds);
  return false;
}

bool FairShare::add_loads(std::span<const Activity> activities) {
  for (const Activity& activity : activities) {
    for (const Demand& demand : activity.demands) pools_[demand.resource.index].load = 0;
  }
  bool everyone_fits = true;
  for (const Activity& activity : activities) {
    for (const Demand& demand : activity.demands) {
      Pool& pool = pools_[demand.resource.index];
      pool.load += wanted(demand);
      everyone_fits &= pool.load <= pool.capacity * kSame;
    }
  }
  return everyone_fits;
}

double FairShare::next_level(std::span<const Activity> activities, std::span<const double> speeds) {
  for (const Activity& activity : activities) {
    for (const Demand& demand : activity.demands) {
      Pool& pool = pools_[demand.resource.index];
      pool.used = pool.slope = 0;
    }
  }
  double level = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < activities.size(); ++i) {
    const bool settled = speeds[i] != kUnsettled;
    if (!settled) level = std::min(level, 1.0 / activities[i].weight);
    for (const Demand& demand : activities[i].demands) {
      Pool& pool = pools_[demand.resource.index];
      if (settled) {
        pool.used += wanted(demand) * speeds[i];
      } else {
        pool.slope += wanted(demand) * activities[i].weight;
      }
    }
  }
  for (const Activity& activity : activities) {
    for (const Demand& demand : activity.demands) {
      Pool& pool = pools_[demand.resource.index];
      pool.level = pool.slope > 0 ? (pool.capacity - pool.used) / pool.slope : std::numeric_limits<double>::infinity();
      level = std::min(level, pool.level);
    }
  }
  return level;
}

bool FairShare::limited(const Activity& activity, double level) const {
  return std::any_of(activity.demands.begin(), activity.demands.end(), [&](const Demand& demand) {
    return wanted(demand) > 0 && pools_[demand.resource.index].level <= level * kSame;
  });
}

void FairShare::fill(std::span<const Activity> activities, std::span<double> speeds) {
  std::fill(speeds.begin(), speeds.end(), kUnsettled);
  // Each round settles at least the activity or the users of the resource that set the level.
  while (std::find(speeds.begin(), speeds.end(), kUnsettled) != speeds.end()) {
    const double level = next_level(activities, speeds);
    for (std::size_t i = 0; i < activities.size(); ++i) {
      if (speeds[i] != kUnsettled) continue;
      const double speed = level * activities[i].weight;
      if (speed * kSame >= 1.0) {
        speeds[i] = 1.0;
      } else if (limited(activities[i], level)) {
        speeds[i] = speed;
      }
    }
  }
}

}  // namespace plimsoll
