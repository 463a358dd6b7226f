#pragma once

#include "core/base/result.h"
#include "sim/planner/partition/partition.h"

namespace plimsoll {

/// The best assignment of a task and how good it can be at all, or what it would need.
struct PartitionAnswer {
  PartitionMethod method = PartitionMethod::kPipeDream;
  std::optional<Partition> best;              ///< none when nothing fits
  PartitionCost cost;                         ///< of the best, counted by the verifier
  double single_seconds = 0;                  ///< of all layers on one device
  double data_parallel_seconds = 0;           ///< of all layers on every device, as PipeDream counts it
  double lower_bound = 0;                     ///< of the objective
  std::size_t cuts = 0;                       ///< places at which the graph can be cut
  bool all_cuts = true;                       ///< false: only those of one order were looked at
  std::optional<Bytes> least_memory;          ///< of a device, with which it would fit
  std::optional<std::size_t> enough_devices;  ///< at the outermost level, with which it would fit
};

/// Refuses what the method cannot take: levels, replicas or memory that its model has no word for.
Result<void> check_partition_task(const PartitionTask& task, PartitionMethod method);

/// Solves and verifies; piper's layers need ways (`with_plain_ways`). Where nothing fits, looks for the least memory and the
/// fewest devices that would do. An error is an unusable task, or a defect of this program.
Result<PartitionAnswer> solve_partition(const PartitionTask& task, PartitionMethod method);

}  // namespace plimsoll
