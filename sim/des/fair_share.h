#pragma once

#include <span>
#include <vector>

#include "core/platform/platform.h"

namespace plimsoll {

/// Something that runs and wants resources. Its speed is relative: 1 as if it were alone.
struct Activity {
  std::span<const Demand> demands;  ///< units a second of each resource at speed 1
  double weight = 1.0;              ///< speed gained per unit of the common fair level; must be positive
};

/// Adds to what is wanted of the same resource already, so that an activity alone never competes with itself.
void add_demand(std::vector<Demand>& demands, const Demand& added);

/// Max-min fair speeds by progressive filling (Bertsekas & Gallager, Data Networks, section 6.5.2): a common level
/// rises from 0 and each activity runs at level · weight until it reaches speed 1 or one of its resources is used up.
/// A link tree is expressed by listing every resource on a path; cores and DRAM are resources too.
class FairShare {
 public:
  /// Resources of capacity 0 (unknown) limit nobody.
  explicit FairShare(std::span<const Resource> resources);

  /// Writes the speed of each activity, in (0, 1]. One that wants more than a whole resource is taken to want all of
  /// it, so that an activity alone always runs at speed 1. Returns true when nobody is slowed.
  bool solve(std::span<const Activity> activities, std::span<double> speeds);

 private:
  struct Pool {
    double capacity = 0;
    double load = 0;   ///< wanted by all at speed 1
    double used = 0;   ///< by activities whose speed is settled
    double slope = 0;  ///< further use per unit of level
    double level = 0;  ///< at which it is used up
  };

  [[nodiscard]] double wanted(const Demand& demand) const;
  bool add_loads(std::span<const Activity> activities);
  double next_level(std::span<const Activity> activities, std::span<const double> speeds);
  [[nodiscard]] bool limited(const Activity& activity, double level) const;
  void fill(std::span<const Activity> activities, std::span<double> speeds);

  std::vector<Pool> pools_;
};

}  // namespace plimsoll
