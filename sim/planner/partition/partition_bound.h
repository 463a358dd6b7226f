#pragma once

#include "sim/planner/partition/partition.h"

namespace plimsoll {

/// A value that no assignment's objective is below, by the method's model, in any order and with any cuts: device-seconds
/// are divided over all devices, and nothing is moved that need not be.
double partition_bound(const PartitionTask& task, PartitionMethod method);

}  // namespace plimsoll
