#pragma once

#include <cstdint>
#include <vector>

#include "formats/machines/gpu_catalogue.h"

namespace plimsoll {

/// Whether boards of a node are joined link by link, not over a switch: V100 modules (DGX-1 and machines like it).
bool has_link_mesh(const GpuEntry& gpu);

/// NVLinks between two of the eight boards of a DGX-1 with V100 (nvidia-smi topo -m); each carries 25 GB/s each way.
int mesh_links(std::int64_t board, std::int64_t other);

/// Rings in one direction that go through all of `boards` and share no link; 0 where there is none.
int mesh_rings(const std::vector<std::int64_t>& boards);

/// The same of the worst of the groups of `ranks` that lie `stride` apart on a node, which all wait for; at least 1, since
/// a chain carries what no ring does.
int rings_of_group(std::int64_t ranks, std::int64_t stride);

/// Bytes/s at which a rank's part of a ring moves in such a group.
double mesh_rate(const GpuEntry& gpu, std::int64_t ranks, std::int64_t stride);

}  // namespace plimsoll
