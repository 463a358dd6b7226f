#pragma once

#include "core/base/result.h"
#include "sim/planner/partition/partition.h"

namespace plimsoll {

/// Counts what an assignment takes, layer by layer and edge by edge, without trusting who made it: every layer stands in
/// one stage, after all that it reads; devices are enough; memory is enough. An error is a defect of the assignment.
Result<PartitionCost> verify_partition(const PartitionTask& task, const Partition& partition);

}  // namespace plimsoll
