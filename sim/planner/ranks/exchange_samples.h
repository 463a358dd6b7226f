#pragma once

#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "core/trace/trace.h"
#include "sim/cost/sample.h"

namespace plimsoll {

/// What the exchanges of a run's steps took, from when the last of their ranks had come to when all had what they wait for, a
/// round of them: the time of so many bytes on the link between ranks, with the sum's additions and the waits of the threads that
/// carry them. Contended are those during which one of the ranks computes. `traces` are by rank, on one clock; steps that are not
/// typical are left out. Fails where the plans do not go together.
Result<std::vector<Sample>> exchange_samples(std::span<const Plan> plans, std::span<const Trace> traces);

}  // namespace plimsoll
