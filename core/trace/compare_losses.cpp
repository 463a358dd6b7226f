#include "core/trace/compare_losses.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {
namespace {

bool are_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

ComparedLosses compare_losses(const std::vector<StepSummary>& first, const std::vector<StepSummary>& second) {
  ComparedLosses compared;
  auto other = second.begin();
  for (const StepSummary& step : first) {
    other = std::find_if(other, second.end(), [&](const StepSummary& s) { return s.step >= step.step; });
    if (other == second.end()) break;
    if (other->step != step.step) continue;
    ++compared.steps;
    if (std::isnan(step.loss) && std::isnan(other->loss)) ++compared.unknown;
    if (are_same(step.loss, other->loss)) continue;
    if (!compared.first_apart) compared.first_apart = {.step = step.step, .first = step.loss, .second = other->loss};
    if (std::isfinite(step.loss) && std::isfinite(other->loss)) {
      compared.largest = std::max(compared.largest.value_or(0), std::abs(step.loss - other->loss));
    }
  }
  return compared;
}

}  // namespace plimsoll
