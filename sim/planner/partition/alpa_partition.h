#pragma once

#include <optional>

#include "sim/planner/partition/ideals.h"
#include "sim/planner/partition/partition.h"

namespace plimsoll {

/// Stages and meshes by Alpa's inter-operator programme (Zheng et al., "Alpa: automating inter- and intra-operator
/// parallelism for distributed deep learning", 2022, section 5) with data parallelism within a mesh. `order` has the
/// beginnings of one order only. None when nothing fits.
std::optional<Partition> alpa_partition(const PartitionTask& task, const Ideals& order);

/// Devices of each mesh that a stage may have: powers of two within a node, then whole nodes.
std::vector<std::size_t> mesh_sizes(const PartitionTask& task);

}  // namespace plimsoll
