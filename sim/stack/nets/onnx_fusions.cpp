#include "sim/stack/nets/onnx_fusions.h"

#include <algorithm>
#include <set>

namespace plimsoll {
namespace {

/// Who makes and who reads each value.
class Uses {
 public:
  explicit Uses(const OnnxGraph& graph) : graph_(graph) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const std::string& name : graph.nodes[i].outputs) maker_[name] = i;
      for (const std::string& name : graph.nodes[i].inputs) readers_[name].push_back(i);
    }
    for (const OnnxValue& value : graph.outputs) readers_[value.name].push_back(graph.nodes.size());
  }
  [[nodiscard]] std::optional<std::size_t> maker(const std::string& name) const {
    const auto found = maker_.find(name);
    return found == maker_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] const std::vector<std::size_t>& readers(const std::string& name) const {
    static const std::vector<std::size_t> kNone;
    const auto found = readers_.find(name);
    return found == readers_.end() ? kNone : found->second;
  }
  /// The one node that reads it; nothing when there are more or none.
  [[nodiscard]] std::optional<std::size_t> only_reader(const std::string& name) const {
    const auto& all = readers(name);
    return all.size() == 1 && all.front() < graph_.nodes.size() ? std::optional(all.front()) : std::nullopt;
  }
  /// The node of that kind that made the value and that nobody else reads.
  [[nodiscard]] std::optional<std::size_t> own(const std::string& name, std::string_view op) const {
    const auto made = maker(name);
    if (!made || graph_.nodes[*made].op != op || !only_reader(name)) return std::nullopt;
    return made;
  }

 private:
  const OnnxGraph& graph_;
  std::map<std::string, std::size_t> maker_;
  std::map<std::string, std::vector<std::size_t>> readers_;
};

const OnnxConstant* constant(const OnnxGraph& graph, const std::string& name) {
  const auto found = graph.constants.find(name);
  return found == graph.constants.end() ? nullptr : &found->second;
}

/// A number that the file holds, or that a Constant node makes.
bool is_number(const OnnxGraph& graph, const Uses& uses, const std::string& name) {
  const OnnxConstant* const stored = constant(graph, name);
  if (stored != nullptr) return stored->elements() == 1;
  const auto made = uses.maker(name);
  if (!made || graph.nodes[*made].op != "Constant") return false;
  const OnnxAttribute* const value = graph.nodes[*made].attribute("value");
  return value == nullptr || !value->constant || value->constant->elements() == 1;
}

bool swaps_last_two(const OnnxNode& node) {
  const std::vector<std::int64_t> order = node.numbers("perm");
  const auto rank = static_cast<std::int64_t>(order.size());
  if (rank < 2) return false;
  for (std::int64_t i = 0; i + 2 < rank; ++i) {
    if (order[static_cast<std::size_t>(i)] != i) return false;
  }
  return order[order.size() - 2] == rank - 1 && order.back() == rank - 2;
}

class Finder {
 public:
  Finder(const OnnxGraph& graph, bool attention) : graph_(graph), uses_(graph) {
    found_.dropped.assign(graph.nodes.size(), false);
    for (std::size_t i = 0; attention && i < graph.nodes.size(); ++i) find_attention(i);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      find_linear(i);
      find_silu(i);
      find_root(i);
    }
  }
  OnnxFusions take() { return std::move(found_); }

 private:
  [[nodiscard]] const OnnxNode& node(std::size_t i) const { return graph_.nodes[i]; }
  [[nodiscard]] bool free(std::size_t i) const { return !found_.dropped[i] && !found_.fusions.contains(i); }

  /// MatMul with a stored matrix, then a stored vector added.
  void find_linear(std::size_t i) {
    if (node(i).op != "MatMul" || !free(i) || node(i).inputs.size() != 2) return;
    const OnnxConstant* const weight = constant(graph_, node(i).inputs[1]);
    if (weight == nullptr || weight->dims.size() != 2) return;
    const auto add = uses_.only_reader(node(i).outputs[0]);
    if (!add || node(*add).op != "Add" || !free(*add)) return;
    const std::string& other = node(*add).inputs[node(*add).inputs[0] == node(i).outputs[0] ? 1 : 0];
    const OnnxConstant* const bias = constant(graph_, other);
    if (bias == nullptr || bias->dims.size() != 1 || bias->dims[0] != weight->dims[1]) return;
    found_.dropped[i] = true;
    found_.fusions[*add] = {.kind = OnnxFusion::Kind::kLinear, .x = node(i).inputs[0], .weight = weight->name, .bias = other};
  }

  /// x · sigmoid(x).
  void find_silu(std::size_t i) {
    if (node(i).op != "Sigmoid" || !free(i)) return;
    const auto product = uses_.only_reader(node(i).outputs[0]);
    if (!product || node(*product).op != "Mul" || !free(*product)) return;
    const std::string& other = node(*product).inputs[node(*product).inputs[0] == node(i).outputs[0] ? 1 : 0];
    if (other != node(i).inputs[0]) return;
    found_.dropped[i] = true;
    found_.fusions[*product] = {.kind = OnnxFusion::Kind::kSilu, .x = other};
  }

  /// 1 ÷ √x.
  void find_root(std::size_t i) {
    if (node(i).op != "Sqrt" || !free(i)) return;
    const auto next = uses_.only_reader(node(i).outputs[0]);
    if (!next || !free(*next)) return;
    const bool divides = node(*next).op == "Div" && node(*next).inputs[1] == node(i).outputs[0] &&
                         is_number(graph_, uses_, node(*next).inputs[0]);
    if (node(*next).op != "Reciprocal" && !divides) return;
    found_.dropped[i] = true;
    found_.fusions[*next] = {.kind = OnnxFusion::Kind::kReciprocalRoot, .x = node(i).inputs[0]};
  }

  /// Back through scalings that nobody else reads; they are collected.
  std::string before_scaling(std::string name, std::vector<std::size_t>& parts) const {
    for (;;) {
      const auto made = uses_.maker(name);
      if (!made || !uses_.only_reader(name) || (node(*made).op != "Mul" && node(*made).op != "Div")) return name;
      const bool second = is_number(graph_, uses_, node(*made).inputs[1]);
      if (!second && (node(*made).op == "Div" || !is_number(graph_, uses_, node(*made).inputs[0]))) return name;
      parts.push_back(*made);
      name = node(*made).inputs[second ? 0 : 1];
    }
  }

  /// The keys as they were before they were turned: an exporter does that by way of three dimensions.
  std::string before_turning(const std::string& name, std::vector<std::size_t>& parts, bool& turned) const {
    turned = true;
    const auto out = uses_.own(name, "Reshape");
    const auto turn = out ? uses_.own(node(*out).inputs[0], "Transpose") : std::nullopt;
    const auto in = turn && swaps_last_two(node(*turn)) ? uses_.own(node(*turn).inputs[0], "Reshape") : std::nullopt;
    if (!in) return name;
    const auto before = uses_.maker(node(*in).inputs[0]);
    if (before && node(*before).op == "Expand") return name;  // heads repeated: that shape is made here
    for (const auto& part : {out, turn, in}) parts.push_back(*part);
    turned = false;
    return node(*in).inputs[0];
  }

  /// From the softmax to the product with the values: NaN guards, dropout and casts in between.
  std::optional<std::size_t> values_product(std::string name, std::vector<std::size_t>& parts) const {
    for (int steps = 0; steps < 6; ++steps) {
      const auto& readers = uses_.readers(name);
      if (readers.size() == 2 && readers[0] < graph_.nodes.size() && readers[1] < graph_.nodes.size()) {
        const std::size_t guard = node(readers[0]).op == "IsNaN" ? readers[0] : readers[1];
        const std::size_t where = guard == readers[0] ? readers[1] : readers[0];
        if (node(guard).op != "IsNaN" || node(where).op != "Where") return std::nullopt;
        parts.push_back(guard);
        parts.push_back(where);
        name = node(where).outputs[0];
        continue;
      }
      const auto reader = uses_.only_reader(name);
      if (!reader) return std::nullopt;
      if (node(*reader).op == "MatMul") return node(*reader).inputs[0] == name ? reader : std::nullopt;
      if (node(*reader).op != "Dropout" && node(*reader).op != "Cast") return std::nullopt;
      parts.push_back(*reader);
      name = node(*reader).outputs[0];
    }
    return std::nullopt;
  }

  /// From the softmax back to the product of queries and keys: masks, scalings and casts in between.
  std::optional<std::size_t> scores_product(std::string name, std::vector<std::size_t>& parts, bool& causal) const {
    for (int steps = 0; steps < 6; ++steps) {
      const auto made = uses_.maker(name);
      if (!made || !uses_.only_reader(name)) return std::nullopt;
      const OnnxNode& at = node(*made);
      if (at.op == "MatMul") return made;
      parts.push_back(*made);
      if (at.op == "Cast") name = at.inputs[0];
      else if (at.op == "Mul" || at.op == "Div" || at.op == "Add") name = scores_operand(at, causal);
      else if (at.op == "Where") name = at.inputs[is_number(graph_, uses_, at.inputs[1]) ? 2 : 1];
      else return std::nullopt;
      if (name.empty()) return std::nullopt;
    }
    return std::nullopt;
  }

  /// Of an addition or scaling the operand that comes from a product.
  std::string scores_operand(const OnnxNode& at, bool& causal) const {
    const bool first_is_other = constant(graph_, at.inputs[0]) != nullptr || is_number(graph_, uses_, at.inputs[0]);
    const std::string& other = at.inputs[first_is_other ? 0 : 1];
    const OnnxConstant* const mask = constant(graph_, other);
    if (mask != nullptr && mask->dims.size() >= 2) causal = mask->dims.back() == mask->dims[mask->dims.size() - 2];
    return at.inputs[first_is_other ? 1 : 0];
  }

  void find_attention(std::size_t i) {
    if (node(i).op != "Softmax" || !free(i)) return;
    std::vector<std::size_t> parts{i};
    OnnxFusion fusion{.kind = OnnxFusion::Kind::kAttention};
    const auto scores = scores_product(node(i).inputs[0], parts, fusion.causal);
    const auto product = scores ? values_product(node(i).outputs[0], parts) : std::nullopt;
    if (!product) return;
    parts.push_back(*scores);
    fusion.x = before_scaling(node(*scores).inputs[0], parts);
    fusion.weight = before_turning(before_scaling(node(*scores).inputs[1], parts), parts, fusion.keys_transposed);
    fusion.bias = node(*product).inputs[1];
    for (const std::size_t part : parts) found_.dropped[part] = true;
    found_.fusions[*product] = fusion;
  }

  const OnnxGraph& graph_;
  Uses uses_;
  OnnxFusions found_;
};

/// Whether input `i` of that operator is a weight where a constant stands there.
bool takes_weight(const OnnxNode& node, std::size_t i, const OnnxConstant& constant) {
  const std::size_t rank = constant.dims.size();
  if (node.op == "Gather") return i == 0 && rank >= 2;
  if (node.op == "Gemm" || node.op == "Conv" || node.op == "ConvTranspose" || node.op == "LayerNormalization" ||
      node.op == "GroupNormalization" || node.op == "InstanceNormalization" || node.op == "RMSNormalization" ||
      node.op == "SimplifiedLayerNormalization")
    return i >= 1;
  if (node.op == "BatchNormalization") return i == 1 || i == 2;
  if (node.op == "MatMul") return rank == 2;
  if (node.op == "Mul") return rank == 1;
  if (node.op != "Add") return false;
  // A bias, or a table of positions with the batch before it; masks have a dimension for heads too.
  return rank <= 2 || (rank == 3 && constant.dims[0] == 1);
}

}  // namespace

OnnxFusions find_onnx_fusions(const OnnxGraph& graph, bool attention) { return Finder(graph, attention).take(); }

std::vector<std::string> trained_constants(const OnnxGraph& graph) {
  std::set<std::string> trained;
  std::map<std::string, std::string> same;  // values that are a constant in other words
  for (const OnnxNode& node : graph.nodes) {
    if (node.inputs.empty() || node.outputs.empty()) continue;
    const bool passes = node.op == "Identity" || node.op == "Transpose" || node.op == "Cast";
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto alias = same.find(node.inputs[i]);
      const std::string& name = alias == same.end() ? node.inputs[i] : alias->second;
      const OnnxConstant* const stored = constant(graph, name);
      if (stored == nullptr || !is_float(stored->type) || stored->elements() < 2) continue;
      if (passes) same[node.outputs[0]] = name;
      else if (takes_weight(node, i, *stored)) trained.insert(name);
    }
  }
  std::vector<std::string> in_order;
  for (const std::string& name : graph.constant_order) {
    if (trained.contains(name)) in_order.push_back(name);
  }
  return in_order;
}

bool stands_transposed(const OnnxGraph& graph, const std::string& name) {
  for (const OnnxNode& node : graph.nodes) {
    if (node.inputs.size() < 2 || node.inputs[1] != name) continue;
    if (node.op == "MatMul") return true;
    if (node.op == "Gemm") return node.whole("transB", 0) == 0;
  }
  return false;
}

}  // namespace plimsoll
