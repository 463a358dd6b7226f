#include "sim/parallel/collectives.h"

#include <algorithm>
#include <cmath>

#include "sim/cost/efficiencies.h"
#include "sim/stack/link_mesh.h"

namespace plimsoll {
namespace {

constexpr double kMicro = 1e-6;

/// An all-reduce goes round twice, the others once.
double rounds(Collective kind) { return kind == Collective::kAllReduce ? 2 : 1; }

double ring_latency(Collective kind, const RankGroup& group, const Cluster& cluster) {
  const double further = cost_constants().at("collective.latency.rank") * kMicro;
  const double steps = static_cast<double>(group.ranks - group.nodes()) * rounds(kind) / 2;
  const double hops = static_cast<double>(group.nodes() - 1) * rounds(kind);
  return cluster.inside.latency + steps * further + (cluster.network ? hops * cluster.network->latency : 0);
}

/// The same inside a node: what a switch or lanes give every group, or the links that a mesh has between its boards.
double inside_rate(const RankGroup& group, const Cluster& cluster) {
  if (cluster.peers_stated || !has_link_mesh(cluster.gpu)) return cluster.inside.rate;
  return mesh_rate(cluster.gpu, std::min(group.ranks, group.per_node), group.stride);
}

/// Bytes/s at which a rank's part of a ring moves.
double ring_rate_of(const RankGroup& group, const Cluster& cluster) {
  if (group.nodes() == 1 || !cluster.network) return inside_rate(group, cluster);
  const double adapters = static_cast<double>(group.per_node) * cluster.network->rate;
  return group.per_node == 1 ? cluster.network->rate : std::min(inside_rate(group, cluster), adapters);
}

double ring_seconds(Collective kind, double bytes, const RankGroup& group, const Cluster& cluster) {
  return ring_latency(kind, group, cluster) + wire_bytes(kind, bytes, group.ranks) / ring_rate_of(group, cluster);
}

double tree_seconds(double bytes, const RankGroup& group, const Cluster& cluster) {
  const double steps = 2 * std::log2(static_cast<double>(group.nodes()));
  const double inner =
      cost_constants().at("collective.latency.rank") * kMicro * static_cast<double>(group.per_node - 1);
  return cluster.inside.latency + inner + steps * cluster.network->latency + 2 * bytes / ring_rate_of(group, cluster);
}

double exchange_seconds(double bytes, const RankGroup& group, const Cluster& cluster) {
  const auto ranks = static_cast<double>(group.ranks),
             near = static_cast<double>(std::min(group.ranks, group.per_node));
  const double inside = bytes * (near - 1) / ranks / inside_rate(group, cluster);
  if (group.nodes() == 1 || !cluster.network) return cluster.inside.latency + inside;
  const double outside = bytes * (ranks - near) / ranks / cluster.network->rate;
  return cluster.inside.latency + cluster.network->latency + std::max(inside, outside);
}

}  // namespace

RankGroup strided_group(std::int64_t ranks, std::int64_t stride, const Cluster& cluster) {
  const std::int64_t room = std::max<std::int64_t>(1, cluster.node_gpus / stride);
  return {.ranks = ranks, .per_node = std::min(ranks, room), .stride = stride};
}

RankGroup tensor_group(const ParallelLayout& layout, const Cluster& cluster) {
  return strided_group(layout.tensor_ranks, 1, cluster);
}

RankGroup context_group(const ParallelLayout& layout, const Cluster& cluster) {
  return strided_group(layout.context_ranks, layout.tensor_ranks, cluster);
}

RankGroup data_group(const ParallelLayout& layout, const Cluster& cluster) {
  return strided_group(layout.data_ranks * layout.context_ranks, layout.tensor_ranks, cluster);
}

RankGroup expert_group(const ParallelLayout& layout, const Cluster& cluster) {
  return strided_group(layout.expert_ranks, layout.tensor_ranks * layout.context_ranks, cluster);
}

RankGroup expert_data_group(const ParallelLayout& layout, const Cluster& cluster) {
  return strided_group(layout.data_ranks * layout.context_ranks / layout.expert_ranks,
                 layout.tensor_ranks * layout.expert_ranks, cluster);
}

double seconds_among_data_ranks(Collective kind, double bytes, double of_experts, const ParallelLayout& layout,
                                const Cluster& cluster) {
  const double dense = seconds_of(kind, bytes - of_experts, data_group(layout, cluster), cluster);
  return of_experts > 0 ? dense + seconds_of(kind, of_experts, expert_data_group(layout, cluster), cluster) : dense;
}

double shared_bytes(const ParallelLayout& layout, double bytes, double of_experts, bool shares) {
  if (!shares) return bytes;
  const auto ranks = static_cast<double>(layout.data_ranks * layout.context_ranks);
  return (bytes - of_experts) / ranks + of_experts / (ranks / static_cast<double>(layout.expert_ranks));
}

bool hops_cross_nodes(const ParallelLayout& layout, const Cluster& cluster) {
  return layout.tensor_ranks * layout.context_ranks * layout.data_ranks >= cluster.node_gpus && cluster.nodes() > 1;
}

double wire_bytes(Collective kind, double bytes, std::int64_t ranks) {
  const auto n = static_cast<double>(ranks);
  if (kind == Collective::kBroadcast) return bytes;
  return rounds(kind) * (n - 1) / n * bytes;
}

double seconds_of(Collective kind, double bytes, const RankGroup& group, const Cluster& cluster) {
  if (group.ranks < 2) return 0;
  if (kind == Collective::kAllToAll) return exchange_seconds(bytes, group, cluster);
  const double ring = ring_seconds(kind, bytes, group, cluster);
  if (kind != Collective::kAllReduce || group.nodes() < 2 || !cluster.network) return ring;
  return std::min(ring, tree_seconds(bytes, group, cluster));
}

double hop_seconds(double bytes, bool crosses_nodes, const Cluster& cluster) {
  if (crosses_nodes && cluster.network) return cluster.network->latency + bytes / cluster.network->rate;
  return cost_constants().at("collective.hop") * kMicro + bytes / cluster.inside.rate;
}

std::string_view to_text(Collective kind) {
  switch (kind) {
    case Collective::kAllReduce:
      return "all-reduce";
    case Collective::kReduceScatter:
      return "reduce-scatter";
    case Collective::kAllGather:
      return "all-gather";
    case Collective::kAllToAll:
      return "all-to-all";
    case Collective::kBroadcast:
      return "broadcast";
  }
  return "";
}

}  // namespace plimsoll
