#pragma once

#include <string>
#include <utility>

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

/// Two trainings that take turns on one machine, the first of each pair as often as the second: of the families' starting points
/// the pair with the shortest steps together of which each leaves room for what rests of the other. Where no pair does, the one
/// that is short of the least; neither fits then.
Result<std::pair<PlannedTraining, PlannedTraining>> plan_together(const ModelSpec& first, const ModelSpec& second,
                                                                  const Recipe& recipe, const Platform& platform,
                                                                  const CostModel& costs);

}  // namespace plimsoll
