#include "sim/parallel/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "sim/cost/efficiencies.h"
#include "sim/stack/collective_seconds.h"

namespace plimsoll {
namespace {

constexpr double kGiga = 1e9;
constexpr double kMicro = 1e-6;
constexpr double kBits = 8;

tl::unexpected<Error> refuse(std::string where, std::string what, std::string remedy) {
  return fail(
      {.kind = ErrorKind::kInput, .what = std::move(what), .where = std::move(where), .remedy = std::move(remedy)});
}

tl::unexpected<Error> bad_network(std::string_view text) {
  return refuse("--network", fmt::format("'{}' is not of the form RATE[@LATENCYus]", text),
                "RATE is 25GB/s of each GPU, or 8x200Gb/s of a node's adapters together");
}

/// The number at the beginning of `text`, which is cut off.
std::optional<double> take_number(std::string_view& text) {
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc{} || !std::isfinite(number)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

bool has_nvlink(const GpuEntry& gpu) {
  return gpu.board == GpuBoard::kDatacenter && gpu.name.find("PCIe") == std::string::npos &&
         gpu.nvlink_gbs.value_or(0) > 0;
}

LinkLevel inside_of(const GpuEntry& gpu) {
  const ConstantTable& constants = cost_constants();
  const double latency = constants.at("collective.latency") * kMicro;
  if (has_nvlink(gpu))
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

/// What nodes of such boards are sold with; nothing where nobody says.
std::optional<double> usual_network_gbs(const GpuEntry& gpu) {
  const std::string key = fmt::format("network.{}", gpu.architecture);
  if (!has_nvlink(gpu) || !cost_constants().has(key)) return std::nullopt;
  return cost_constants().at(key);
}

}  // namespace

Result<LinkLevel> parse_network(std::string_view text, std::int64_t node_gpus) {
  const std::string_view whole = text;
  auto number = take_number(text);
  double adapters = 0;
  if (number && take(text, "x")) {
    adapters = *number;
    number = take_number(text);
  }
  if (!number || *number <= 0) return bad_network(whole);
  const bool bits = take(text, "Gb/s");
  if (!bits && !take(text, "GB/s")) return bad_network(whole);
  LinkLevel level{.rate = *number * kGiga / (bits ? kBits : 1),
                  .latency = cost_constants().at("collective.network.latency") * kMicro};
  if (adapters > 0) level.rate *= adapters / static_cast<double>(node_gpus);
  level.rate *= cost_constants().at("collective.network");
  if (text.empty()) return level;
  if (!take(text, "@")) return bad_network(whole);
  const auto latency = take_number(text);
  if (!latency || *latency < 0 || text != "us") return bad_network(whole);
  level.latency = *latency * kMicro;
  return level;
}

Result<Cluster> make_cluster(const GpuEntry& gpu, const ClusterRequest& request) {
  Cluster cluster{.gpu = gpu, .gpus = request.gpus, .inside = inside_of(gpu), .network = {}, .network_origin = {}};
  const auto share = collective_share(gpu, request.collective_sms);
  if (!share) return fail(share.error());
  cluster.collective_share = *share;
  if (request.nodes) {
    if (*request.nodes < 1 || request.gpus % *request.nodes != 0) {
      return refuse("--nodes", fmt::format("{} GPUs do not divide by {} nodes", request.gpus, *request.nodes),
                    "choose a divisor");
    }
    cluster.node_gpus = request.gpus / *request.nodes;
  } else {
    cluster.node_gpus =
        std::min<std::int64_t>(request.gpus, static_cast<std::int64_t>(cost_constants().at("network.node")));
  }
  if (cluster.nodes() == 1) return cluster;
  if (!request.network.empty()) {
    const auto stated = parse_network(request.network, cluster.node_gpus);
    if (!stated) return fail(stated.error());
    cluster.network = *stated;
    cluster.network_origin = fmt::format("network {} as stated", request.network);
    return cluster;
  }
  const auto usual = usual_network_gbs(gpu);
  if (!usual) {
    return refuse("--network",
                  fmt::format("{} GPUs are {} nodes, and nobody says what joins nodes with {}", request.gpus,
                              cluster.nodes(), gpu.name),
                  "say it: --network 25GB/s, or 8x200Gb/s of a node, or --nodes 1");
  }
  cluster.network = LinkLevel{.rate = *usual * kGiga * cost_constants().at("collective.network"),
                              .latency = cost_constants().at("collective.network.latency") * kMicro};
  cluster.network_origin = fmt::format(
      "network of {:g} GB/s a GPU assumed, as nodes of such boards are sold; say --network for yours", *usual);
  return cluster;
}

}  // namespace plimsoll
