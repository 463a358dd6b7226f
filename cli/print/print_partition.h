#pragma once

#include <string>

#include "sim/planner/partition/solve_partition.h"

namespace plimsoll {

/// The answer of `plimsoll partition --json`.
std::string partition_json(const PartitionTask& task, const PartitionAnswer& answer);

void print_partition(const std::string& file, const PartitionTask& task, const PartitionAnswer& answer);

}  // namespace plimsoll
