#pragma once

#include <cstdint>

#include "core/base/quantity.h"
#include "formats/machines/gpu_catalogue.h"

namespace plimsoll {

/// What NCCL takes of a GPU's memory for one group of ranks in a node, by the sizes that its source lays out. Every channel has
/// a buffer at both ends of each connection to a peer; a ring has one to the next rank and one from the last, a chain of more than
/// two ranks (the tree of a node) the same two the other way round. Beside them lies a pool for sends to other nodes, made with the
/// communicator since NCCL 2.12.
struct CommunicatorShape {
  std::int64_t ranks = 2;
  bool ends_chain = false;   ///< the first or last of a chain has one neighbour in it
  std::int64_t adapters = 0; ///< of several nodes: network adapters that the ranks of one of them send through
  bool makes_pool = true;    ///< NCCL 2.12 or newer
};

Bytes communicator_memory(const GpuEntry& gpu, const CommunicatorShape& shape);

/// Channels that NCCL opens between GPUs of a node: two for each NVLink of a board, at most 24; two over PCIe. Between nodes two for each
/// adapter (NVIDIA/nccl issue 1453: 16 on three nodes of eight H100 with eight adapters).
std::int64_t communicator_channels(const GpuEntry& gpu, std::int64_t adapters = 0);

}  // namespace plimsoll
