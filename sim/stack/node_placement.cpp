#include "sim/stack/node_placement.h"

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

/// Bytes/s of a number before "GB/s" or "Gb/s", which is cut off.
std::optional<double> take_rate(std::optional<double> number, std::string_view& text) {
  if (!number || *number <= 0) return std::nullopt;
  const bool bits = take(text, "Gb/s");
  if (!bits && !take(text, "GB/s")) return std::nullopt;
  return *number * kGiga / (bits ? kBits : 1);
}

/// What nodes of such boards are sold with; nothing where nobody says.
std::optional<double> usual_network_gbs(const GpuEntry& gpu) {
  const std::string key = fmt::format("network.{}", gpu.architecture);
  if (!has_links_to_all(gpu) || !cost_constants().has(key)) return std::nullopt;
  return cost_constants().at(key);
}

/// Of modules whose switch joins all of them, or of two boards with a bridge.
Result<double> nvlink_rate(const GpuEntry& gpu, std::int64_t node_gpus) {
  const std::string remedy = "say the rate that a ring of them reaches (--peers 12GB/s), or leave --peers out";
  if (gpu.nvlink_gbs.value_or(0) <= 0) return refuse("--peers", gpu.name + " has no NVLink", remedy);
  if (node_gpus > 2 && !has_links_to_all(gpu)) return refuse("--peers", fmt::format("a bridge joins two boards, and these are {} of a node", node_gpus), remedy);
  return nvlink_ring_rate(gpu);
}

Result<LinkLevel> network_of(const GpuEntry& gpu, const NodePlacement& placed, const std::string& stated, std::string& origin) {
  if (!stated.empty()) {
    origin = fmt::format("network {} as stated", stated);
    return parse_network(stated, placed.node_gpus);
  }
  const auto usual = usual_network_gbs(gpu);
  if (!usual) {
    return refuse("--network",
                  fmt::format("{} GPUs are {} nodes, and nobody says what joins nodes with {}", placed.gpus, placed.nodes(),
                              gpu.name),
                  "say it: --network 25GB/s, or 8x200Gb/s of a node, or --nodes 1");
  }
  origin = fmt::format("network of {:g} GB/s a GPU assumed, as nodes of such boards are sold; say --network for yours", *usual);
  return LinkLevel{.rate = *usual * kGiga * cost_constants().at("collective.network"),
                   .latency = cost_constants().at("collective.network.latency") * kMicro};
}

}  // namespace

std::int64_t NodePlacement::ranks_per_node(std::int64_t ranks, std::int64_t stride) const {
  return std::min(ranks, std::max<std::int64_t>(1, node_gpus / stride));
}

std::int64_t gpus_of_node(std::int64_t gpus, std::optional<std::int64_t> nodes) {
  if (nodes) return std::max<std::int64_t>(1, gpus / std::max<std::int64_t>(1, *nodes));
  return std::min(gpus, static_cast<std::int64_t>(cost_constants().at("network.node")));
}

Result<LinkLevel> parse_network(std::string_view text, std::int64_t node_gpus) {
  const std::string_view whole = text;
  auto number = take_number(text);
  double adapters = 0;
  if (number && take(text, "x")) {
    adapters = *number;
    number = take_number(text);
  }
  const auto rate = take_rate(number, text);
  if (!rate) return bad_network(whole);
  LinkLevel level{.rate = *rate, .latency = cost_constants().at("collective.network.latency") * kMicro};
  if (adapters > 0) level.rate *= adapters / static_cast<double>(node_gpus);
  level.rate *= cost_constants().at("collective.network");
  if (text.empty()) return level;
  if (!take(text, "@")) return bad_network(whole);
  const auto latency = take_number(text);
  if (!latency || *latency < 0 || text != "us") return bad_network(whole);
  level.latency = *latency * kMicro;
  return level;
}

std::optional<std::int64_t> network_adapters(std::string_view text) {
  const auto number = take_number(text);
  if (!number || !take(text, "x")) return std::nullopt;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(*number));
}

std::string peers_text(double rate) { return fmt::format("GPUs of a node send each other {:.3g} GB/s in a ring, as stated", rate / kGiga); }

std::string usual_nodes_text(std::int64_t node_gpus) {
  return fmt::format("nodes of {} GPUs assumed; say --nodes for yours", node_gpus);
}

Result<double> parse_peers(std::string_view text, const GpuEntry& gpu, std::int64_t node_gpus) {
  if (text == "nvlink") return nvlink_rate(gpu, node_gpus);
  std::string_view rest = text;
  const auto rate = take_rate(take_number(rest), rest);
  if (rate && rest.empty()) return *rate;
  return refuse("--peers", fmt::format("'{}' is neither a rate nor nvlink", text),
                "say what all_reduce_perf of NCCL's tests prints as bus bandwidth (--peers 12GB/s), or nvlink for two boards with a bridge");
}

Result<NodePlacement> place_on_nodes(const GpuEntry& gpu, std::int64_t gpus, const StatedLinks& links) {
  const auto& [nodes, network, peers] = links;
  NodePlacement placed{.gpus = gpus, .node_gpus = gpus, .nodes_stated = nodes.has_value(), .network = {}, .network_origin = {}, .peers = {}};
  if (nodes && (*nodes < 1 || gpus % *nodes != 0))
    return refuse("--nodes", fmt::format("{} GPUs do not divide by {} nodes", gpus, *nodes), "choose a divisor");
  placed.node_gpus = gpus_of_node(gpus, nodes);
  const bool as_usual = peers.empty() || (peers == "nvlink" && has_links_to_all(gpu));  // modules go over NVLink anyway, each kind in its own way
  if (!as_usual) {
    const auto rate = parse_peers(peers, gpu, placed.node_gpus);
    if (!rate) return fail(rate.error());
    placed.peers = *rate;
  }
  if (placed.nodes() == 1) return placed;
  const auto level = network_of(gpu, placed, network, placed.network_origin);
  if (!level) return fail(level.error());
  placed.network = *level;
  placed.adapters = network_adapters(network).value_or(placed.node_gpus);
  return placed;
}

}  // namespace plimsoll
