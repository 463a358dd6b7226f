#pragma once

#include "core/plan/plan.h"
#include "sim/planner/fit_answer.h"

namespace plimsoll {

/// Of plans of pipelines: what a step of theirs is.
extern const char* const kOneStage;

/// What the plan of a program that allocates would need and take: the stack's allocator over its markers, and its step over
/// its launches, which carry their seconds. A defect of its allocations is named.
Result<FitAnswer> simulate_dynamic(const Plan& plan);

}  // namespace plimsoll
