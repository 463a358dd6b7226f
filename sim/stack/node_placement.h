#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "formats/machines/gpu_catalogue.h"

namespace plimsoll {

/// What joins devices: bytes/s of each device in one direction, and the seconds until the first byte is there.
struct LinkLevel {
  double rate = 0;
  double latency = 0;
};

/// How a user says that GPUs are joined; what is empty is as usual.
struct StatedLinks {
  std::optional<std::int64_t> nodes;
  std::string network;  ///< between nodes, as parse_network reads it
  std::string peers;    ///< between GPUs of a node, as parse_peers reads it
};

/// How the GPUs of a training stand on equal nodes.
struct NodePlacement {
  std::int64_t gpus = 1;
  std::int64_t node_gpus = 8;
  bool nodes_stated = false;
  std::optional<LinkLevel> network;  ///< a device's share of its node's; nothing where all GPUs are on one node
  std::int64_t adapters = 8;         ///< of a node; one a GPU where nobody says
  std::string network_origin;        ///< "network … as stated", or what was assumed
  std::optional<double> peers;       ///< stated bytes/s that each GPU of a node sends and receives at once in a ring

  [[nodiscard]] std::int64_t nodes() const { return (gpus + node_gpus - 1) / node_gpus; }
  /// Of ranks that lie `stride` GPUs apart, how many are on each node.
  [[nodiscard]] std::int64_t ranks_per_node(std::int64_t ranks, std::int64_t stride) const;
};

/// How many of `gpus` stand on one node; those of usual nodes where nobody says how many nodes there are.
std::int64_t gpus_of_node(std::int64_t gpus, std::optional<std::int64_t> nodes);
/// "25GB/s" a GPU, "8x200Gb/s" a node (of `node_gpus`), either with "@5us".
Result<LinkLevel> parse_network(std::string_view text, std::int64_t node_gpus);
/// Bytes/s that each of `node_gpus` GPUs of a node sends and receives at once in a ring: "12GB/s" (what NCCL's tests print as bus bandwidth),
/// or "nvlink", over NVLink where a bridge joins two boards. Refused: boards without it, and more than two of them on a node.
Result<double> parse_peers(std::string_view text, const GpuEntry& gpu, std::int64_t node_gpus);
/// The adapters of a node that such a text counts; nothing where it tells a GPU's rate.
std::optional<std::int64_t> network_adapters(std::string_view text);

/// Nothing said is 8 GPUs a node, and what nodes of such boards are sold with.
/// Refused: GPUs that do not divide by nodes, and several nodes of boards whose network nobody states.
Result<NodePlacement> place_on_nodes(const GpuEntry& gpu, std::int64_t gpus, const StatedLinks& links);

/// "GPUs of a node send each other 12 GB/s in a ring, as stated".
std::string peers_text(double rate);

/// "nodes of 8 GPUs assumed; say --nodes for yours".
std::string usual_nodes_text(std::int64_t node_gpus);

}  // namespace plimsoll
