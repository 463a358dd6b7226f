#pragma once

#include "core/base/result.h"
#include "sim/planner/packing/greedy_packing.h"

namespace plimsoll {

/// Checks offsets without trusting who made them: alignments, fixed offsets, no byte shared at a time, the stated height.
Result<void> verify_task_packing(const PackingTask& task, const TaskPacking& packing);

}  // namespace plimsoll
