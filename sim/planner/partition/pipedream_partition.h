#pragma once

#include <optional>

#include "sim/planner/partition/ideals.h"
#include "sim/planner/partition/partition.h"

namespace plimsoll {

/// Stages and replicas by PipeDream's programme (Harlap et al., "PipeDream: fast and efficient pipeline parallel DNN
/// training", 2018, section 3.2), level by level from the inside out. None when no assignment fits in the memory.
std::optional<Partition> pipedream_partition(const PartitionTask& task, const Ideals& ideals);

}  // namespace plimsoll
