#pragma once

#include <fmt/format.h>

#include <cmath>

#include "core/trace/summarize.h"
#include "session/warm_up.h"
#include "tests/gpu/device_plans.h"

namespace plimsoll::gpu {

/// This computer around the bench's board with what a run measures before it plans: copies beside the CPU's Adam, and the drive.
Platform measured_machine(Bench& bench, MachineOptions options);

/// Seven steps of the plan on the device, from the second or none of them traced.
Trace measured(const Bench& bench, const Plan& plan, bool traced);

/// What traced steps of the plan tell of costs, as a run's warm-up does.
WarmUp learnt_from(const Bench& bench, const Plan& plan, const std::shared_ptr<const CostModel>& catalogue);

/// Of several predictions.
struct Errors {
  double sum = 0, worst = 0;
  int count = 0;
  void add(double predicted, double found) {
    const double error = std::abs(predicted / found - 1);
    sum += error;
    worst = std::max(worst, error);
    ++count;
  }
  [[nodiscard]] double mean() const { return sum / count; }
  [[nodiscard]] std::string words() const { return fmt::format("worst {:.3f}", worst); }
};

}  // namespace plimsoll::gpu
