#pragma once

#include <cstdint>
#include <string_view>

#include "sim/parallel/cluster.h"
#include "sim/parallel/parallel_layout.h"

namespace plimsoll {

/// What several ranks do together.
enum class Collective : std::uint8_t { kAllReduce, kReduceScatter, kAllGather, kAllToAll, kBroadcast };

/// Ranks that talk, and how many of them are on each node.
struct RankGroup {
  std::int64_t ranks = 1;
  std::int64_t per_node = 1;
  std::int64_t stride = 1;  ///< from one to the next, where a node's links differ from pair to pair

  [[nodiscard]] std::int64_t nodes() const { return (ranks + per_node - 1) / per_node; }
};

/// So many ranks that lie `stride` apart.
RankGroup strided_group(std::int64_t ranks, std::int64_t stride, const Cluster& cluster);

/// The ranks of a layout that share what that degree shares, as they lie on a cluster's nodes.
RankGroup tensor_group(const ParallelLayout& layout, const Cluster& cluster);
RankGroup context_group(const ParallelLayout& layout, const Cluster& cluster);
/// Data and context ranks: all that have the same parameters.
RankGroup data_group(const ParallelLayout& layout, const Cluster& cluster);
RankGroup expert_group(const ParallelLayout& layout, const Cluster& cluster);
/// Ranks that have the same experts: those of data_group, but for the expert ranks.
RankGroup expert_data_group(const ParallelLayout& layout, const Cluster& cluster);
/// Seconds of a collective over what data ranks have in common: experts among those that have the same ones, the rest
/// among all.
double seconds_among_data_ranks(Collective kind, double bytes, double of_experts, const ParallelLayout& layout,
                                const Cluster& cluster);
/// Bytes of a rank's share where data ranks share out `bytes`, of which `of_experts` belong to experts; all of them
/// unless `shares`.
double shared_bytes(const ParallelLayout& layout, double bytes, double of_experts, bool shares);
/// Whether neighbouring stages are on different nodes.
bool hops_cross_nodes(const ParallelLayout& layout, const Cluster& cluster);

/// Bytes that each rank sends of a collective over `bytes` (the whole buffer that all have in the end, or began with).
double wire_bytes(Collective kind, double bytes, std::int64_t ranks);

/// Seconds of a ring: first latencies, then the bytes at the slower of the links inside nodes and the adapters that the
/// group's ranks of a node have together. An all-reduce over nodes takes a tree where that is faster (Sanders et al.
/// 2009: 2 log2 steps, twice the buffer); an all-to-all sends the other nodes' part over the network and the rest
/// inside.
double seconds_of(Collective kind, double bytes, const RankGroup& group, const Cluster& cluster);

/// Seconds from a stage to the next.
double hop_seconds(double bytes, bool crosses_nodes, const Cluster& cluster);

std::string_view to_text(Collective kind);

}  // namespace plimsoll
