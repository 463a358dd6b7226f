#include "sim/stack/nets/onnx_net.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/stack/nets/net_layers.h"

namespace plimsoll {
namespace {

[[noreturn]] void refuse(std::string what, std::string remedy) {
  throw EnvironmentError({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = std::move(remedy)});
}

/// A layer's name of a weight's: "transformer.h.0.attn" of "transformer.h.0.attn.c_attn.weight".
std::string place_of(const std::string& weight) {
  const std::size_t last = weight.rfind('.');
  return last == std::string::npos ? weight : weight.substr(0, last);
}

OnnxState of_constant(const OnnxConstant& constant, Parameter* weight) {
  return {.shape = constant.dims, .numbers = constant.numbers, .known = constant.known, .whole = !is_float(constant.type), .weight = weight};
}

constexpr std::int64_t kMostElements = std::int64_t{1} << 48;

/// Empty and impossible tensors have no place in a training step.
void check_shape(const std::string& name, const Shape& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t dim : shape) {
    if (dim < 1 || elements > kMostElements / dim)
      refuse(fmt::format("'{}' has an empty or impossible shape", name), "export the model with sizes that it can be trained with");
    elements *= dim;
  }
}

/// What an attention without heads, or with planes of its own, has no name for.
Tensor attention(Tape& tape, const Tensor& q, const Tensor& k, const Tensor& v, bool causal) {
  const std::size_t rank = q.shape.size();
  if (rank < 3 || rank > 4 || k.shape.size() != rank || v.shape.size() != rank || k.shape.back() != q.shape.back())
    refuse("an attention joins queries, keys and values whose shapes do not go together", "take --attention eager");
  const std::int64_t heads = q.shape.size() == 4 ? q.shape[1] : 1;
  return fused_attention(tape, q, k, v,
                         {.heads = heads, .sequence = q.size(-2), .keys = k.size(-2), .head_dim = q.size(-1), .causal = causal});
}

std::vector<std::vector<std::string>> last_reads(const OnnxGraph& graph, const OnnxFusions& fusions) {
  std::map<std::string, std::size_t> last;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::string& name : graph.nodes[i].inputs) last[name] = i;
  }
  for (const auto& [at, fusion] : fusions.fusions) {
    for (const std::string& name : {fusion.x, fusion.weight, fusion.bias}) last[name] = std::max(last[name], at);
  }
  std::vector<std::vector<std::string>> names(graph.nodes.size());
  for (const auto& [name, at] : last) names[at].push_back(name);
  return names;
}

std::int64_t size_of_dimension(const OnnxValue& value, std::size_t i, const OnnxUse& use) {
  if (i == 0) return use.batch > 0 ? use.batch : std::max<std::int64_t>(1, value.dims[0]);
  if (value.dims[i] >= 0) return value.dims[i];
  if (use.sequence > 0) return use.sequence;
  const std::string& name = value.dim_names[i];
  refuse(fmt::format("the input '{}' has a dimension '{}' that a run decides", value.name, name), "say it with --seq");
}

}  // namespace

std::int64_t stated_batch(const OnnxGraph& graph) {
  for (const OnnxValue& input : graph.inputs) {
    if (!input.dims.empty() && input.dims[0] > 0) return input.dims[0];
  }
  return 1;
}

OnnxNet::OnnxNet(Tape& tape, const OnnxGraph& graph, const OnnxUse& use, DType weights)
    : tape_(tape), graph_(graph), use_(use), dtype_(weights), fusions_(find_onnx_fusions(graph, use.flash)) {
  if (use_.batch <= 0) use_.batch = stated_batch(graph);
  last_read_ = last_reads(graph, fusions_);
  output_ = graph.outputs.front().name;
  make_weights(weights);
}

void OnnxNet::make_weights(DType weights) {
  for (const std::string& name : trained_constants(graph_)) {
    const OnnxConstant& constant = graph_.constants.at(name);
    Shape shape = constant.dims;
    check_shape(name, shape);
    if (shape.size() == 2 && stands_transposed(graph_, name)) std::swap(shape[0], shape[1]);
    weights_[name] = &tape_.parameter(name, std::move(shape), weights);
  }
  for (const auto& [name, constant] : graph_.constants) {
    if (is_float(constant.type) && constant.elements() > 1 && !weights_.contains(name))
      weights_[name] = &tape_.parameter(name, constant.dims, weights, false);
  }
}

void OnnxNet::feed(std::optional<DType> autocast) {
  for (const auto& [name, constant] : graph_.constants) {
    const auto weight = weights_.find(name);
    values_[name] = of_constant(constant, weight == weights_.end() ? nullptr : weight->second);
  }
  for (const OnnxValue& input : graph_.inputs) {
    OnnxState state{.whole = !is_float(input.type)};
    for (std::size_t i = 0; i < input.dims.size(); ++i) state.shape.push_back(size_of_dimension(input, i, use_));
    check_shape(input.name, state.shape);
    state.tensor = tape_.empty(state.shape, state.whole ? kIndexType : autocast ? DType::kFp32 : dtype_);
    values_[input.name] = std::move(state);
  }
}

OnnxState& OnnxNet::input(const OnnxNode& node, std::size_t i) {
  const auto found = values_.find(node.inputs[i]);
  if (found == values_.end())
    refuse(fmt::format("the node '{}' ({}) reads '{}', which nothing before it makes", node.name, node.op, node.inputs[i]),
           "export the model again");
  return found->second;
}

void OnnxNet::run_node(std::size_t index) {
  const OnnxNode& node = graph_.nodes[index];
  OnnxCall call{.tape = tape_, .graph = graph_, .node = node, .inputs = {}, .stated_batch = stated_batch(graph_), .batch = use_.batch};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    call.inputs.push_back(node.inputs[i].empty() ? nullptr : &input(node, i));
    if (call.inputs.back() != nullptr && call.inputs.back()->weight != nullptr && call.inputs.back()->weight->trained)
      tape_.at(place_of(node.inputs[i]));
  }
  if (node.outputs.empty()) return;
  if (node.op == "Constant") {
    const OnnxAttribute* const value = node.attribute("value");
    OnnxState state{.shape = {}, .whole = true};
    if (value != nullptr && value->constant) state = of_constant(*value->constant, nullptr);
    else if (const OnnxAttribute* const whole = node.attribute("value_int"); whole != nullptr)
      state = {.shape = {}, .numbers = {whole->whole}, .known = true, .whole = true};
    else if (const OnnxAttribute* const list = node.attribute("value_ints"); list != nullptr)
      state = {.shape = {static_cast<std::int64_t>(list->numbers.size())}, .numbers = list->numbers, .known = true, .whole = true};
    else state.whole = false;
    values_[node.outputs[0]] = std::move(state);
    return;
  }
  if (OnnxState numbers; evaluate_numbers(call, numbers)) {
    values_[node.outputs[0]] = std::move(numbers);
    return;
  }
  std::vector<OnnxState> made = run_onnx_operator(call);
  for (std::size_t i = 0; i < made.size() && i < node.outputs.size(); ++i) check_shape(node.outputs[i], made[i].shape);
  for (std::size_t i = 0; i < made.size() && i < node.outputs.size(); ++i) values_[node.outputs[i]] = std::move(made[i]);
}

Tensor OnnxNet::fused_linear(const Tensor& x, const OnnxFusion& fusion) {
  const auto weight = weights_.find(fusion.weight), bias = weights_.find(fusion.bias);
  if (weight == weights_.end() || bias == weights_.end() || x.shape.empty() || x.shape.back() != weight->second->value.shape[1])
    refuse(fmt::format("a product with '{}' joins shapes that do not go together", fusion.weight), "export the model again");
  return linear(tape_, x, {.weight = weight->second, .bias = bias->second});
}

void OnnxNet::run_nodes() {
  const auto value = [&](const std::string& name) -> const Tensor& {
    const auto found = values_.find(name);
    if (found == values_.end() || !found->second.tensor) refuse(fmt::format("nothing makes '{}'", name), "export the model again");
    return found->second.tensor;
  };
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const auto fused = fusions_.fusions.find(i);
    if (fused != fusions_.fusions.end()) {
      const OnnxFusion& fusion = fused->second;
      Tensor out;
      switch (fusion.kind) {
        case OnnxFusion::Kind::kLinear:
          tape_.at(place_of(fusion.weight));
          out = fused_linear(value(fusion.x), fusion);
          break;
        case OnnxFusion::Kind::kSilu: out = from_input(tape_, value(fusion.x)); break;
        case OnnxFusion::Kind::kReciprocalRoot: out = from_result(tape_, value(fusion.x)); break;
        case OnnxFusion::Kind::kAttention: {
          const Tensor& keys = value(fusion.weight);
          const std::size_t rank = keys.shape.size();
          const Tensor k = fusion.keys_transposed && rank >= 2 ? transpose(tape_, keys, rank - 2, rank - 1) : keys;
          out = attention(tape_, value(fusion.x), k, value(fusion.bias), fusion.causal);
          break;
        }
      }
      OnnxState state{.shape = out.shape};
      state.tensor = std::move(out);
      values_[graph_.nodes[i].outputs[0]] = std::move(state);
    } else if (!fusions_.dropped[i]) {
      run_node(i);
    }
    forget_after(i);
  }
}

void OnnxNet::forget_after(std::size_t index) {
  for (const std::string& name : last_read_[index]) {
    if (name != output_) values_.erase(name);
  }
}

StackModel::Loss OnnxNet::loss(std::optional<DType> autocast) {
  Loss result;
  tape_.phase(Phase::kForward);
  tape_.with_autocast(autocast, [&] {
    feed(autocast);
    run_nodes();
    const auto found = values_.find(output_);
    if (found == values_.end() || !found->second.tensor || found->second.whole)
      refuse(fmt::format("the output '{}' is no tensor that a loss can be taken of", output_), "export the model with its logits first");
    const Tensor out = std::move(found->second.tensor);
    values_.clear();
    tape_.at("loss");
    const std::int64_t last = out.shape.empty() ? 1 : out.shape.back();
    result.loss = last > 1 ? cross_entropy(tape_, view(tape_, out, {out.elements() / last, last})) : mean_square(tape_, out);
    result.logits = out;
  });
  return result;
}

namespace {

/// Inputs without which an operator means nothing.
std::size_t least_inputs(const std::string& op) {
  static const std::set<std::string> kTwo{"MatMul", "Mul", "Div", "Add", "Sub", "Gemm", "Conv", "Gather", "GatherElements", "Equal", "Min", "Max",
                                          "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "And", "Or", "Xor", "Pow", "Expand", "Tile"};
  if (op == "Constant") return 0;
  return op == "Where" || op == "Range" ? 3 : kTwo.contains(op) ? 2 : 1;
}

Result<void> check_nodes(const OnnxGraph& graph) {
  for (const OnnxNode& node : graph.nodes) {
    if (!node.outputs.empty() && node.inputs.size() >= least_inputs(node.op)) continue;
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("the node '{}' ({}) lacks inputs or outputs", node.name, node.op),
                 .where = {},
                 .remedy = "export the model again"});
  }
  return {};
}

/// Operators that are not known here: each once, with how often it occurs.
Result<void> check_operators(const OnnxGraph& graph) {
  std::map<std::string, int> unknown;
  for (const OnnxNode& node : graph.nodes) {
    if (!knows_onnx_operator(node)) ++unknown[node.domain.empty() ? node.op : node.domain + "." + node.op];
  }
  if (unknown.empty()) return {};
  std::string list;
  for (const auto& [op, count] : unknown) list += fmt::format("{}{} ({} x)", list.empty() ? "" : ", ", op, count);
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("operators that are not known here: {}; each needs to be told what it makes and keeps for backward", list),
               .where = {},
               .remedy = "export the model from its training code, where control flow is unrolled and quantized operators are not yet in"});
}

}  // namespace

Result<StackModelMaker> onnx_maker(std::shared_ptr<const OnnxGraph> graph, const OnnxUse& use) {
  if (const auto known = check_operators(*graph); !known) return fail(known.error());
  if (const auto whole = check_nodes(*graph); !whole) return fail(whole.error());
  StackModelMaker maker = [graph = std::move(graph), use](Tape& tape, DType weights) -> std::unique_ptr<StackModel> {
    return std::make_unique<OnnxNet>(tape, *graph, use, weights);
  };
  try {
    Tape tape;
    const auto model = maker(tape, DType::kFp32);
    tape.without_grad([&] { model->loss(std::nullopt); });
  } catch (const EnvironmentError& error) {
    return fail(error.error());
  }
  return maker;
}

std::vector<std::string> onnx_notes(const OnnxGraph& graph, const OnnxUse& use) {
  std::vector<std::string> notes;
  const std::vector<std::string> trained = trained_constants(graph);
  const std::set<std::string> weights(trained.begin(), trained.end());
  std::size_t buffers = 0;
  for (const auto& [name, constant] : graph.constants) {
    if (is_float(constant.type) && constant.elements() > 1 && !weights.contains(name)) ++buffers;
  }
  notes.push_back(fmt::format("{} constants are taken for weights that are trained, {} for masks and tables that are not",
                              weights.size(), buffers));
  std::size_t convolutions = 0, norms = 0;
  for (const OnnxNode& node : graph.nodes) {
    convolutions += node.op == "Conv";
    norms += node.op.find("Normalization") != std::string::npos;
  }
  if (convolutions > 1 && norms == 0)
    notes.emplace_back("no norm between convolutions: an export for inference folds batch norms away; export in training mode to count them");
  const auto fused = find_onnx_fusions(graph, use.flash).fusions;
  const auto attentions = std::count_if(fused.begin(), fused.end(), [](const auto& f) { return f.second.kind == OnnxFusion::Kind::kAttention; });
  if (attentions > 0) notes.push_back(fmt::format("{} attentions that the exporter spelled out run fused (--attention eager: as written)", attentions));
  notes.emplace_back("the loss is not in the file: cross entropy over the first output's last dimension (of one number, squared differences)");
  notes.emplace_back("exporters leave dropout out and store weights of equal numbers once");
  return notes;
}

}  // namespace plimsoll
