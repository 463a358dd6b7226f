#include "executor/held_out.h"

namespace plimsoll {

HeldOut mean_of(std::span<const StepSummary> batches, const std::function<double(std::int64_t)>& weight_of) {
  double losses = 0, right = 0, weights = 0;
  for (const StepSummary& batch : batches) {
    const double weight = weight_of(batch.step);
    losses += weight * batch.loss;
    right += weight * batch.right;
    weights += weight;
  }
  HeldOut found;
  if (weights == 0) return found;
  found.loss = losses / weights;
  if (batches.front().right >= 0) found.right = right / weights;
  return found;
}

}  // namespace plimsoll
