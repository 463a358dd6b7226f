#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "formats/graphs/check_step_graph.h"
#include "formats/graphs/step_graph.h"
#include "formats/text/json_node.h"
#include "formats/text/parse_json.h"

namespace plimsoll {
namespace {

constexpr int kGraphVersion = 1;
constexpr std::string_view kFormat = "plimsoll step graph";
constexpr std::int64_t kMostSize = std::int64_t{1} << 40;
constexpr double kMostWork = 1e24;

double read_work(const JsonNode& node, std::string_view key) {
  const double work = node.number_or(key, 0, 0);
  if (work > kMostWork) node.at(key).fault("more than 1e24");
  return work;
}

/// "fp32" …, or of integers and masks "index" and "uint8".
DType read_dtype(const JsonNode& node) {
  const std::string text = node.text();
  if (text == "index") return DType::kFp64;
  const auto dtype = parse_dtype(text);
  if (!dtype) node.fault(fmt::format("no type is called '{}'", text), "fp32, bf16, fp16, fp64, uint8 or index");
  return dtype.value_or(DType::kFp32);
}

std::vector<std::uint32_t> read_indices(const JsonNode& node, std::string_view key) {
  std::vector<std::uint32_t> indices;
  for (const JsonNode& index : node.elements_of(key)) indices.push_back(index.index());
  return indices;
}

GraphLaunch read_launch(const JsonNode& node) {
  node.allow_only({"sort", "dtype", "backward", "causal", "batch", "m", "n", "k", "flops", "bytes"});
  GraphLaunch launch{.sort = static_cast<LaunchSort>(node.at("sort").one_of({"product", "attention", "convolution", "stream"})),
                     .dtype = read_dtype(node.at("dtype")),
                     .backward = node.boolean_or("backward", false),
                     .causal = node.boolean_or("causal", false),
                     .batch = node.integer_or("batch", 1, 1, kMostSize),
                     .m = node.integer_or("m", 0, 0, kMostSize),
                     .n = node.integer_or("n", 0, 0, kMostSize),
                     .k = node.integer_or("k", 0, 0, kMostSize)};
  launch.flops = read_work(node, "flops");
  launch.bytes = read_work(node, "bytes");
  return launch;
}

GraphOp read_op(const JsonNode& node, const std::map<std::string, std::uint32_t>& parameters) {
  node.allow_only({"op", "at", "phase", "again", "reads", "makes", "frees", "gradients", "kernels"});
  GraphOp op{.name = node.at("op").text(), .at = node.text_or("at", "")};
  op.phase = node.at("phase").one_of({"forward", "backward"}) == 0 ? Phase::kForward : Phase::kBackward;
  op.again = node.boolean_or("again", false);
  op.reads = read_indices(node, "reads");
  op.makes = read_indices(node, "makes");
  op.frees = read_indices(node, "frees");
  for (const JsonNode& launch : node.elements_of("kernels")) op.launches.push_back(read_launch(launch));
  if (!node.has("gradients")) return op;
  const JsonNode gradients = node.at("gradients");
  for (const std::string& name : gradients.keys()) {
    const auto known = parameters.find(name);
    if (known == parameters.end()) gradients.fault(fmt::format("no parameter is called '{}'", name));
    else op.gradients.push_back({.parameter = known->second, .storage = gradients.at(name).index()});
  }
  return op;
}

GraphParameter read_parameter(const JsonNode& node) {
  node.allow_only({"name", "storage", "shape", "dtype", "trained"});
  GraphParameter parameter{.name = node.at("name").text(), .storage = node.at("storage").index()};
  for (const JsonNode& size : node.at("shape").elements()) parameter.shape.push_back(size.integer(0, kMostSize));
  parameter.dtype = read_dtype(node.at("dtype"));
  parameter.trained = node.boolean_or("trained", true);
  return parameter;
}

Precision read_precision(const JsonNode& node) {
  const auto precision = parse_precision(node.text());
  if (!precision) node.fault(precision.error().what, precision.error().remedy);
  return precision.value_or(Precision::kFp32);
}

void read_head(const JsonNode& node, StepGraph& graph) {
  graph.name = node.at("name").text();
  graph.source = node.text_or("source", "");
  graph.samples = node.integer_or("samples", 1, 1, kMaxInt32);
  if (node.has("tokens_per_sample") && !node.at("tokens_per_sample").is_null())
    graph.tokens_per_sample = node.at("tokens_per_sample").integer(1, kMaxInt32);
  graph.precision = read_precision(node.at("precision"));
  graph.buffers = read_indices(node, "buffers");
  graph.inputs = read_indices(node, "inputs");
  graph.loss = node.at("loss").index();
  if (node.has("saved_bytes")) graph.saved = node.at("saved_bytes").bytes();
}

void read_storages(const JsonNode& node, StepGraph& graph) {
  Bytes total;
  for (const JsonNode& size : node.elements()) {
    graph.storages.push_back(size.bytes());
    total += graph.storages.back();
    if (total <= kMaxParsedBytes) continue;
    size.fault("the storages add up to more than an exbibyte");
    return;
  }
}

}  // namespace

bool is_step_graph_file(const std::string& path) {
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(path, unreadable)) return false;
  std::ifstream file(path, std::ios::binary);
  std::string head(256, ' ');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  return head.find(kFormat) != std::string::npos;
}

Result<StepGraph> read_step_graph(std::string_view text, const std::string& where) {
  const auto document = parse_json(text, where);
  if (!document) return fail(document.error());
  JsonFault fault{.where = where, .error = {}};
  const JsonNode node(*document, "", fault);
  node.allow_only({"format", "format_version", "name", "source", "samples", "tokens_per_sample", "precision", "storages",
                   "parameters", "buffers", "inputs", "loss", "saved_bytes", "ops"});
  if (node.at("format").text() != kFormat) node.at("format").fault(fmt::format("this is no '{}'", kFormat));
  read_format_version(node, kGraphVersion);
  StepGraph graph;
  read_head(node, graph);
  read_storages(node.at("storages"), graph);
  std::map<std::string, std::uint32_t> parameters;
  for (const JsonNode& item : node.at("parameters").elements()) {
    graph.parameters.push_back(read_parameter(item));
    const auto number = static_cast<std::uint32_t>(graph.parameters.size() - 1);
    if (!parameters.emplace(graph.parameters.back().name, number).second) item.fault("a second parameter of that name");
  }
  for (const JsonNode& item : node.at("ops").elements()) graph.ops.push_back(read_op(item, parameters));
  if (fault.error) return fail(*fault.error);
  if (auto consistent = check_step_graph(graph, where); !consistent) return fail(consistent.error());
  return graph;
}

}  // namespace plimsoll
