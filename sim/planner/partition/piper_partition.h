#pragma once

#include <optional>

#include "sim/planner/partition/ideals.h"
#include "sim/planner/partition/partition.h"

namespace plimsoll {

/// Stages, replicas, tensor degrees and each layer's way by Piper's programme (Tarnawski, Narayanan, Phanishayee, "Piper:
/// multidimensional planner for DNN parallelization", 2021). Layers without ways get two: as profiled, and computing
/// their outputs again (`with_plain_ways`). None when nothing fits.
std::optional<Partition> piper_partition(const PartitionTask& task, const Ideals& ideals);

/// The graph with ways on one device for every layer that has none.
LayerGraph with_plain_ways(LayerGraph graph);

}  // namespace plimsoll
