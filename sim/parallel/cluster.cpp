#include "sim/parallel/cluster.h"

#include <fmt/format.h>

#include "sim/cost/efficiencies.h"
#include "sim/stack/collective_seconds.h"
#include "sim/stack/link_mesh.h"

namespace plimsoll {
namespace {

constexpr double kGiga = 1e9;
constexpr double kMicro = 1e-6;

tl::unexpected<Error> refuse(std::string where, std::string what, std::string remedy) {
  return fail(
      {.kind = ErrorKind::kInput, .what = std::move(what), .where = std::move(where), .remedy = std::move(remedy)});
}

LinkLevel inside_of(const GpuEntry& gpu) {
  const ConstantTable& constants = cost_constants();
  const double latency = constants.at("collective.latency") * kMicro;
  // From board to board; rings have the links of their group (collectives.h).
  if (has_link_mesh(gpu)) return {.rate = mesh_rate(gpu, 2, 1), .latency = latency};
  if (has_links_to_all(gpu))
    return {.rate = constants.at("collective.nvlink") * *gpu.nvlink_gbs / 2 * kGiga, .latency = latency};
  return {.rate = ring_rate(gpu), .latency = latency};
}

Result<double> collective_share(const GpuEntry& gpu, std::int64_t sms) {
  if (sms == 0) return 0.0;
  if (sms > 0 && sms < gpu.multiprocessors) return static_cast<double>(sms) / static_cast<double>(gpu.multiprocessors);
  return refuse("--collective-sms",
                fmt::format("a collective cannot run on {} of the {} multiprocessors of {}", sms, gpu.multiprocessors, gpu.name),
                "leave some to the kernels; NCCL takes one for each of its channels (NCCL_MAX_CTAS)");
}

}  // namespace

Result<Cluster> make_cluster(const GpuEntry& gpu, const ClusterRequest& request) {
  Cluster cluster{.gpu = gpu, .gpus = request.gpus, .inside = inside_of(gpu), .network = {}, .network_origin = {}};
  const auto share = collective_share(gpu, request.collective_sms);
  if (!share) return fail(share.error());
  cluster.collective_share = *share;
  const auto placed = place_on_nodes(gpu, request.gpus, {request.nodes, request.network, request.peers});
  if (!placed) return fail(placed.error());
  if (placed->peers) cluster.inside.rate = *placed->peers;
  cluster.peers_stated = placed->peers.has_value();
  cluster.node_gpus = placed->node_gpus;
  cluster.nodes_stated = placed->nodes_stated;
  cluster.network = placed->network;
  cluster.network_origin = placed->network_origin;
  return cluster;
}

}  // namespace plimsoll
