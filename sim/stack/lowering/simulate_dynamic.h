#pragma once

#include "core/plan/plan.h"
#include "sim/planner/fit_answer.h"

namespace plimsoll {

/// What the plan of a program that allocates would need and take: the stack's allocator over its markers, and its step over
/// its launches, which carry their seconds. A defect of its allocations is named.
Result<FitAnswer> simulate_dynamic(const Plan& plan);

}  // namespace plimsoll
