#pragma once

#include <functional>
#include <span>

#include "executor/executor.h"

namespace plimsoll {

/// The mean over an evaluation's batches, weighted by `weight_of` a batch's step.
HeldOut mean_of(std::span<const StepSummary> batches, const std::function<double(std::int64_t step)>& weight_of);

}  // namespace plimsoll
