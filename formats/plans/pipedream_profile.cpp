#include <fmt/format.h>

#include <cmath>
#include <set>

#include "formats/plans/layer_profile.h"
#include "formats/text/csv.h"

namespace plimsoll {
namespace {

constexpr double kMostMilliseconds = 1e12;
constexpr double kMostBytes = 1e15;

/// Lines of a profile: `node2 -- Conv2d(…) -- forward_compute_time=22.3, …`, and edges `\tnode1 -- node2`.
class ProfileReader {
 public:
  explicit ProfileReader(const std::string& where) : where_(where) {}

  Result<LayerProfile> read(std::string_view text) {
    while (!text.empty() && !error_) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (line.ends_with('\r')) line.remove_suffix(1);
      ++line_;
      if (line.starts_with('\t') || line.starts_with("  ")) {
        read_edge(trimmed(line));
      } else if (!trimmed(line).empty()) {
        read_layer(line);
      }
    }
    if (!error_ && graph_.layers.empty()) refuse("no layers in this file", "a line is NAME -- KIND -- forward_compute_time=…");
    if (error_) return fail(*error_);
    drop_ends();
    return LayerProfile{.graph = std::move(graph_)};
  }

 private:
  static std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
  }

  void refuse(std::string what, std::string remedy = {}) {
    if (error_) return;
    error_ = Error{.kind = ErrorKind::kInput,
                   .what = std::move(what),
                   .where = fmt::format("{}:{}", where_, line_),
                   .remedy = std::move(remedy)};
  }

  void read_edge(std::string_view line) {
    const std::size_t between = line.find(" -- ");
    if (between == std::string_view::npos) return refuse("an edge has the form NAME -- NAME");
    const auto from = find(line.substr(0, between)), to = find(line.substr(between + 4));
    if (!from.valid() || !to.valid()) return;
    if (from == to) return refuse(fmt::format("layer '{}' reads itself", graph_.layers[from.index].name));
    if (!seen_edges_.insert({from, to}).second) return;
    graph_.edges.push_back({from, to, graph_.layers[from.index].output});
  }

  LayerId find(std::string_view name) {
    const auto at = ids_.find(std::string(trimmed(name)));
    if (at != ids_.end()) return at->second;
    refuse(fmt::format("no layer '{}' stands above", trimmed(name).substr(0, 60)), "layers come before edges");
    return {};
  }

  void read_layer(std::string_view line) {
    const std::size_t first = line.find(" -- "), last = line.rfind(" -- ");
    if (first == std::string_view::npos || last == first) {
      return refuse(
          "a layer has the form NAME -- KIND -- forward_compute_time=…, backward_compute_time=…, "
          "activation_size=…, parameter_size=…");
    }
    Layer layer{.name = std::string(trimmed(line.substr(0, first)))};
    kinds_.emplace_back(trimmed(line.substr(first + 4, last - first - 4)));
    const std::string_view fields = line.substr(last + 4);
    layer.forward_seconds = sum_of(fields, "forward_compute_time", kMostMilliseconds) * 1e-3;
    layer.backward_seconds = sum_of(fields, "backward_compute_time", kMostMilliseconds) * 1e-3;
    layer.output = Bytes(std::llround(sum_of(fields, "activation_size", kMostBytes)));
    layer.parameters = Bytes(std::llround(sum_of(fields, "parameter_size", kMostBytes)));
    if (!ids_.emplace(layer.name, LayerId(graph_.layers.size())).second) {
      refuse(fmt::format("layer '{}' stands here a second time", layer.name));
    }
    if (graph_.layers.size() >= kMostLayers) refuse(fmt::format("more than {} layers", kMostLayers));
    graph_.layers.push_back(std::move(layer));
  }

  /// A number, or the sum of a list of them: [6291456.0; 131072.0].
  double sum_of(std::string_view fields, std::string_view key, double most) {
    const std::size_t at = fields.find(std::string(key) + "=");
    if (at == std::string_view::npos) {
      refuse(fmt::format("'{}' is missing", key));
      return 0;
    }
    std::string_view rest = fields.substr(at + key.size() + 1);
    rest = trimmed(rest.substr(0, rest.find(',')));
    const std::string_view whole = rest;
    if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
    double sum = 0;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(';'), rest.size());
      const auto value = parse_number(trimmed(rest.substr(0, end)));
      if (!value || *value < 0 || *value > most) {
        refuse(fmt::format("{} is '{}', not a number from 0 to {:g}", key, whole.substr(0, 60), most));
        return 0;
      }
      sum += *value;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return sum;
  }

  /// Inputs stand on the first device at no cost; outputs of a tuple that nothing reads do nothing.
  void drop_ends() {
    std::vector<bool> is_read(graph_.layers.size()), reads(graph_.layers.size());
    for (const LayerEdge& edge : graph_.edges) is_read[edge.from.index] = reads[edge.to.index] = true;
    std::vector<LayerId> renamed(graph_.layers.size());
    LayerGraph kept;
    for (std::size_t i = 0; i < graph_.layers.size(); ++i) {
      if (!reads[i] && kinds_[i].starts_with("Input")) continue;
      if (!is_read[i] && kinds_[i].starts_with("__getitem__")) continue;
      renamed[i] = LayerId(kept.layers.size());
      kept.layers.push_back(std::move(graph_.layers[i]));
    }
    for (const LayerEdge& edge : graph_.edges) {
      const LayerId from = renamed[edge.from.index], to = renamed[edge.to.index];
      if (from.valid() && to.valid()) kept.edges.push_back({from, to, edge.bytes});
    }
    graph_ = std::move(kept);
  }

  const std::string& where_;
  std::size_t line_ = 0;
  LayerGraph graph_;
  std::vector<std::string> kinds_;
  std::map<std::string, LayerId> ids_;
  std::set<std::pair<LayerId, LayerId>> seen_edges_;
  std::optional<Error> error_;
};

}  // namespace

Result<LayerProfile> read_pipedream_profile(std::string_view text, const std::string& where) {
  auto profile = ProfileReader(where).read(text);
  if (!profile) return profile;
  if (profile->graph.layers.empty()) {
    return fail({.kind = ErrorKind::kInput, .what = "nothing but inputs in this file", .where = where, .remedy = {}});
  }
  return profile;
}

Result<LayerProfile> read_layer_profile(std::string_view text, const std::string& where) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = first != std::string_view::npos && text[first] == '{';
  auto profile = json ? read_piper_profile(text, where) : read_pipedream_profile(text, where);
  if (!profile) return profile;
  if (const auto order = topological_order(profile->graph); !order) {
    Error error = order.error();
    error.where = where;
    return fail(std::move(error));
  }
  return profile;
}

}  // namespace plimsoll
