#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "formats/machines/gpu_catalogue.h"
#include "sim/stack/node_placement.h"

namespace plimsoll {

/// Equal GPUs on equal nodes.
struct Cluster {
  GpuEntry gpu;
  std::int64_t gpus = 1;
  std::int64_t node_gpus = 8;
  LinkLevel inside;                  ///< NVLink, or PCIe
  std::optional<LinkLevel> network;  ///< a device's share of its node's; nothing where all GPUs are on one node
  std::string network_origin;        ///< "stated", or what was assumed
  bool peers_stated = false;         ///< `inside` is what the user said
  bool nodes_stated = false;         ///< not 8 GPUs a node because nobody said
  double collective_share = 0;       ///< of a GPU's multiprocessors, which a collective takes from the kernels beside it

  [[nodiscard]] std::int64_t nodes() const { return (gpus + node_gpus - 1) / node_gpus; }
};

/// What a user says of a cluster.
struct ClusterRequest {
  std::int64_t gpus = 1;
  std::optional<std::int64_t> nodes;
  std::string network;  ///< empty: what nodes of such boards are sold with, where that is known
  std::string peers;    ///< between GPUs of a node; empty: NVLink between modules, PCIe between boards
  std::int64_t collective_sms = 0;  ///< multiprocessors that a collective runs on
};

/// A cluster of `gpu`. Refused: GPUs that do not divide by nodes, several nodes of boards whose network nobody states, and
/// collectives on all multiprocessors.
Result<Cluster> make_cluster(const GpuEntry& gpu, const ClusterRequest& request);

}  // namespace plimsoll
