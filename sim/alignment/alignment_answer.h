#pragma once

#include <string>
#include <vector>

#include "core/base/quantity.h"
#include "sim/cost/cost_model.h"

namespace plimsoll {

/// A model that is there throughout a step.
struct ResidentModel {
  std::string role;   ///< "policy", "reference", "critic" …
  std::string place;  ///< of its weights: "device", "host memory", or the plan's words
  Bytes device;       ///< what it holds between phases
  Bytes host;
  bool trained = false;
};

/// A stretch of a step in which one thing is done.
struct AlignmentPhase {
  std::string name;
  double seconds = 0;
  Bytes device;  ///< at its peak, resident models included
  Bytes host;
};

/// What `fit --workload dpo` and `--workload ppo` answer. Of what does not fit the times are those that it would have.
struct AlignmentAnswer {
  bool fits = false;
  std::vector<ResidentModel> models;
  std::vector<AlignmentPhase> phases;
  Bytes device_usable;
  Bytes host_usable;
  std::string shortfall;  ///< what is missing, in words; empty when it fits

  [[nodiscard]] double seconds() const;
  [[nodiscard]] Bytes device_peak() const;
  [[nodiscard]] Bytes host_peak() const;
};

}  // namespace plimsoll
