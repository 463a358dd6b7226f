#pragma once

#include <map>

#include "executor/data/batch_source.h"
#include "tests/gpu/device_plans.h"

namespace plimsoll::gpu {

/// What a step's launches take when each kernel has the device for itself.
struct OwnSeconds {
  std::map<std::uint32_t, double> of_kernel;  ///< of one launch
  double step = 0;                            ///< of all launches of a step, one after another
};

/// Seconds that each kernel is to be kept up: those of the environment's PLIMSOLL_SUSTAINED (2.5 shows what power and heat allow), else
/// the usual ones, which the time of all checks has room for.
double sustained_for(double usual);

/// Launches every kernel of the plan's step on the device over and over, `each` seconds at least.
OwnSeconds own_seconds(const Bench& bench, const Plan& plan, const BatchSource& data, double each);

}  // namespace plimsoll::gpu
