#pragma once

#include <vector>

#include "core/base/result.h"
#include "sim/planner/partition/partition.h"

namespace plimsoll {

/// Time and memory of each stage by its method's model, and the objective of methods for which it is not the slowest
/// stage. `places` has the stage of each layer; the assignment is known to be whole and in order.
Result<PartitionCost> count_stages(const PartitionTask& task, const Partition& partition, const std::vector<std::size_t>& places);

}  // namespace plimsoll
