#pragma once

#include <memory>
#include <span>

#include "sim/cost/cost_model.h"
#include "sim/cost/sample.h"

namespace plimsoll {

/// A cost model made of measurements, and what became of them.
struct Calibration {
  std::shared_ptr<const CostModel> model;
  SampleCount count;
};

/// Chains what was measured (exact keys), what was fitted on it (other sizes), and `fallback` (what was never run).
/// Each answer says by its origin which of the three it is from; the issue overhead is the measured one where there is
/// one. `samples` stand in the order in which they were measured.
Calibration calibrate(std::span<const Sample> samples, std::shared_ptr<const CostModel> fallback);

/// The same on samples that were summarized before.
Calibration calibrate(SampleStatistics statistics, std::shared_ptr<const CostModel> fallback);

}  // namespace plimsoll
