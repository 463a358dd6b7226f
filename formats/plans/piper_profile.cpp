#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "formats/plans/layer_profile.h"
#include "formats/text/json_node.h"
#include "formats/text/parse_json.h"

namespace plimsoll {
namespace {

constexpr double kMostBytes = 1e15;
constexpr double kMostSeconds = 1e9;
constexpr std::int64_t kMostDegree = 4096;
constexpr std::int64_t kMostDevices = 1'000'000;

Bytes read_bytes(const JsonNode& node) {
  const double value = node.number(0);
  if (value <= kMostBytes) return Bytes(std::llround(value));
  node.fault(fmt::format("{} bytes are too many", value));
  return {};
}

/// The whole of a key as a whole number; nothing else.
std::optional<std::int64_t> key_number(const std::string& key) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), value);
  if (error != std::errc{} || end != key.data() + key.size()) return std::nullopt;
  return value;
}

/// Piper's profile: layers with, for each number of devices, the ways to run them.
class PiperReader {
 public:
  LayerProfile read(const JsonNode& node) {
    LayerProfile profile{.graph = {}, .has_ways = true};
    profile.devices = static_cast<std::size_t>(node.integer_or("maxDevices", 0, 0, kMostDevices));
    if (node.has("maxMemoryPerDevice")) profile.memory = read_bytes(node.at("maxMemoryPerDevice"));
    profile.bandwidth = node.number_or("bandwidth", 0, 0);
    profile.micro_batches = static_cast<std::size_t>(node.integer_or("mbsInBatch", 0, 0, kMostDevices));
    const JsonNode list = node.at("nodes");
    const auto nodes = list.elements();
    if (nodes.empty()) list.fault("a profile without layers");
    if (nodes.size() > kMostLayers) list.fault(fmt::format("more than {} layers", kMostLayers));
    for (const JsonNode& layer : nodes) name_layer(layer);
    for (std::size_t i = 0; i < nodes.size(); ++i) read_ways(nodes[i].at("TMPCs"), graph_.layers[i]);
    for (const JsonNode& edge : node.at("edges").elements()) read_edge(edge);
    profile.graph = std::move(graph_);
    return profile;
  }

 private:
  void name_layer(const JsonNode& node) {
    const std::int64_t id = node.at("id").integer(-kMaxParsedCount, kMaxParsedCount);
    if (!ids_.emplace(id, LayerId(graph_.layers.size())).second) {
      node.at("id").fault(fmt::format("id {} stands in two layers", id));
    }
    Layer layer;
    layer.name = fmt::format("{} {}", id, node.text_or("name", "layer"));
    graph_.layers.push_back(std::move(layer));
  }

  void read_ways(const JsonNode& table, Layer& layer) {
    for (const std::string& key : table.keys()) {
      const auto degree = key_number(key);
      if (!degree || *degree < 1 || *degree > kMostDegree) return table.fault(fmt::format("\"{}\" is no number of devices", key));
      for (const JsonNode& way : table.at(key).elements()) {
        layer.ways.push_back(read_way(way, static_cast<std::size_t>(*degree)));
      }
    }
    const auto plain = std::find_if(layer.ways.begin(), layer.ways.end(), [](const LayerWay& way) { return way.degree == 1; });
    if (plain == layer.ways.end()) return table.fault("no way to run on one device", "give a list \"1\"");
    layer.backward_seconds = plain->seconds;
    layer.parameters = plain->parameters;
  }

  LayerWay read_way(const JsonNode& node, std::size_t degree) {
    LayerWay way;
    way.name = node.text_or("id", "way");
    way.degree = degree;
    way.seconds = node.at("timePerSample").number(0);
    if (way.seconds > kMostSeconds) node.at("timePerSample").fault("that is too long");
    way.parameters = read_bytes(node.at("parameterSize"));
    way.stashed = read_bytes(node.at("memoryUsageA"));
    way.fixed = read_bytes(node.at("memoryUsageB"));
    if (node.has("syncTimeFw")) way.input_sync = read_sync(node.at("syncTimeFw"));
    if (node.has("syncTimeBw")) way.output_sync = read_sync(node.at("syncTimeBw"));
    return way;
  }

  std::map<LayerId, Bytes> read_sync(const JsonNode& table) {
    std::map<LayerId, Bytes> sync;
    for (const std::string& key : table.keys()) {
      const auto id = key_number(key);
      const auto layer = id ? ids_.find(*id) : ids_.end();
      if (layer == ids_.end()) {
        table.fault(fmt::format("there is no layer \"{}\"", key));
        return sync;
      }
      sync[layer->second] = read_bytes(table.at(key));
    }
    return sync;
  }

  LayerId find(const JsonNode& node) {
    const auto at = ids_.find(node.integer(-kMaxParsedCount, kMaxParsedCount));
    if (at != ids_.end()) return at->second;
    node.fault("there is no such layer");
    return {};
  }

  void read_edge(const JsonNode& node) {
    const LayerEdge edge{find(node.at("sourceId")), find(node.at("destId")), read_bytes(node.at("communicationCost"))};
    if (!edge.from.valid() || !edge.to.valid()) return;
    if (edge.from == edge.to) return node.fault("a layer cannot read itself");
    Layer& from = graph_.layers[edge.from.index];
    from.output = std::max(from.output, edge.bytes);
    graph_.edges.push_back(edge);
  }

  LayerGraph graph_;
  std::map<std::int64_t, LayerId> ids_;
};

}  // namespace

Result<LayerProfile> read_piper_profile(std::string_view text, const std::string& where) {
  const auto document = parse_json(text, where);
  if (!document) return fail(document.error());
  JsonFault fault{.where = where, .error = {}};
  LayerProfile profile = PiperReader().read(JsonNode(*document, "", fault));
  if (fault.error) return fail(*fault.error);
  return profile;
}

}  // namespace plimsoll
