#pragma once

#include <string>

#include "core/model/recipe.h"
#include "core/platform/platform.h"
#include "sim/cost/cost_model.h"

namespace plimsoll {

/// The training of one model of several: its plan in numbers.
struct PlannedTraining {
  bool fits = false;
  std::string strategy;  ///< the plan's name
  double step_seconds = 0;
  Bytes device_peak, device_resting;  ///< resting: what lasts from step to step
  Bytes host_peak, host_resting;
  Bytes device_weights;  ///< of the resting bytes, the weights that compute reads
};

/// The fastest of the families' starting points on that much of the machine; where none fits, the one that is short of the
/// least, timed.
Result<PlannedTraining> plan_training(const ModelSpec& spec, const Recipe& recipe, const Platform& platform,
                                      const CostModel& costs);

}  // namespace plimsoll
