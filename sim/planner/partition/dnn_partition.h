#pragma once

#include <optional>

#include "sim/planner/partition/ideals.h"
#include "sim/planner/partition/partition.h"

namespace plimsoll {

/// Contiguous parts of a graph, one a device, with the least load of the fullest: Tarnawski, Phanishayee, Devanur, Mahajan,
/// Paravecino, "Efficient algorithms for device placement of DNN graph operators", 2020. None when nothing fits.
std::optional<Partition> dnn_partition(const PartitionTask& task, const Ideals& ideals);

/// Contiguous parts with the least time of one sample's forward through all of them, where parts without a path between
/// them run at once: labels of times at which tensors are there, of which those that are worse in all are dropped.
std::optional<Partition> least_latency_partition(const PartitionTask& task, const Ideals& ideals);

}  // namespace plimsoll
