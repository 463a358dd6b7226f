#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/stack/nets/net_layers.h"
#include "sim/stack/nets/onnx_operators.h"

namespace plimsoll {
namespace {

Weights weights_of(const OnnxCall& call, std::size_t weight, std::size_t bias) {
  Weights weights;
  if (call.has(weight)) weights.weight = call.at(weight).weight;
  if (call.has(bias)) weights.bias = call.at(bias).weight;
  if (weights.weight == nullptr) call.refuse("has a weight that is not stored in the file");
  return weights;
}

OnnxStates product(const OnnxCall& call) {
  need_rank(call, 0, 1);
  if (Parameter* const weight = call.at(1).weight; weight != nullptr && call.at(1).shape.size() == 2) {
    Tensor out = linear(call.tape, call.tensor(0), {.weight = weight});
    if (call.at(0).shape.back() != call.at(1).shape[0]) call.refuse("multiplies shapes that do not go together");
    out.shape.back() = call.at(1).shape[1];
    return one_state(std::move(out));
  }
  Tensor a = call.tensor(0), b = call.tensor(1);
  if (a.shape.size() < 2 || b.shape.size() < 2 || a.shape.back() != b.shape[b.shape.size() - 2])
    call.refuse("multiplies shapes that do not go together");
  return one_state(matmul(call.tape, a, b));
}

OnnxStates gemm(const OnnxCall& call) {
  const bool turned_x = call.node.whole("transA", 0) != 0, turned = call.node.whole("transB", 0) != 0;
  const Shape& w = call.at(1).shape;
  need_rank(call, 0, 2);
  if (turned_x || w.size() != 2) call.refuse("multiplies in a way that is not known here");
  if (call.at(1).weight == nullptr) {
    const Tensor b = turned ? transpose(call.tape, call.tensor(1), 0, 1) : call.tensor(1);
    Tensor out = matmul(call.tape, call.tensor(0), b);
    return one_state(call.has(2) ? add(call.tape, out, call.tensor(2)) : out);
  }
  if (call.at(0).shape.back() != w[turned ? 1 : 0]) call.refuse("multiplies shapes that do not go together");
  Weights weights{.weight = call.at(1).weight};
  if (call.has(2)) weights.bias = call.at(2).weight;
  Tensor out = linear(call.tape, call.tensor(0), weights);
  out.shape.back() = w[turned ? 0 : 1];
  return one_state(std::move(out));
}

OnnxStates looked_up(const OnnxCall& call) {
  OnnxState& data = call.at(0);
  const std::size_t axis = dimension_of(call, call.node.whole("axis", 0), data.shape.size());
  if (data.weight != nullptr && axis == 0 && data.shape.size() == 2) {
    const Tensor indices = call.at(1).tensor ? call.tensor(1) : call.tape.empty(call.at(1).shape, kIndexType);
    return one_state(embedding(call.tape, indices, *data.weight));
  }
  Shape shape(data.shape.begin(), data.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.end(), call.at(1).shape.begin(), call.at(1).shape.end());
  shape.insert(shape.end(), data.shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, data.shape.end());
  if (data.whole) return whole_state(call, std::move(shape), kIndexType);
  Tensor rows = narrow(call.tape, call.tensor(0), axis, call.at(1).elements());
  return one_state(view(call.tape, rows, std::move(shape)));
}

OnnxStates taken(const OnnxCall& call) { return whole_state(call, call.at(1).shape, kIndexType); }

OnnxStates normed(const OnnxCall& call) {
  need_rank(call, 0, 2);
  OnnxStates made;
  if (call.node.op == "BatchNormalization") made = one_state(batch_norm(call.tape, call.tensor(0), weights_of(call, 1, 2)));
  else if (call.node.op == "LayerNormalization") made = one_state(layer_norm(call.tape, call.tensor(0), weights_of(call, 1, 2)));
  else if (call.node.op == "RMSNormalization" || call.node.op == "SimplifiedLayerNormalization")
    made = one_state(fused_rms_norm(call.tape, call.tensor(0), *weights_of(call, 1, 9).weight));
  else {
    const std::int64_t channels = call.at(0).shape.size() > 1 ? call.at(0).shape[1] : 1;
    made = one_state(group_norm(call.tape, call.tensor(0), weights_of(call, 1, 2), call.node.whole("num_groups", channels)));
  }
  for (std::size_t i = 1; i < call.node.outputs.size(); ++i) made.push_back({.shape = {1}, .whole = true});
  return made;
}

OnnxStates softmaxed(const OnnxCall& call) {
  need_rank(call, 0, 1);
  return one_state(softmax(call.tape, call.tensor(0), call.tape.autocast() ? DType::kFp32 : call.tensor(0).dtype));
}

/// Sums, means and largest numbers over some dimensions.
OnnxStates reduced(const OnnxCall& call) {
  const Shape& shape = call.at(0).shape;
  const std::vector<std::int64_t> axes = call.numbers(1, "axes");
  const bool all = axes.empty();
  Shape made = shape, left;
  for (const std::int64_t axis : axes) made[dimension_of(call, axis, shape.size())] = 1;
  if (all) made.assign(shape.size(), 1);
  std::vector<bool> gone(shape.size(), all);
  for (const std::int64_t axis : axes) gone[dimension_of(call, axis, shape.size())] = true;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!gone[i]) left.push_back(made[i]);
  }
  const bool keep = call.node.whole("keepdims", 1) != 0;
  if (call.at(0).whole) return whole_state(call, keep ? made : left, kIndexType);
  Tensor out = average_pool(call.tape, call.tensor(0), made);
  return one_state(keep ? out : view(call.tape, out, left));
}

// --- planes

/// Sizes that windows leave of a plane.
Shape windowed(const OnnxCall& call, std::int64_t channels, const std::vector<std::int64_t>& window) {
  const Shape& x = call.at(0).shape;
  if (x.size() != window.size() + 2) call.refuse("moves a window over a tensor of another rank");
  const auto strides = call.node.numbers("strides"), pads = call.node.numbers("pads"), dilations = call.node.numbers("dilations");
  const OnnxAttribute* const automatic = call.node.attribute("auto_pad");
  Shape made{x[0], channels};
  for (std::size_t i = 0; i < window.size(); ++i) {
    const std::int64_t stride = i < strides.size() ? strides[i] : 1, wide = (window[i] - 1) * (i < dilations.size() ? dilations[i] : 1) + 1;
    const std::int64_t pad = i + window.size() < pads.size() ? pads[i] + pads[i + window.size()] : 0;
    const bool same_size = automatic != nullptr && automatic->text.starts_with("SAME");
    const std::int64_t room = x[i + 2] + pad - wide + (call.node.whole("ceil_mode", 0) != 0 ? stride - 1 : 0);
    if (stride < 1 || (room < 0 && !same_size)) call.refuse("moves a window over planes that are smaller than it");
    made.push_back(same_size ? (x[i + 2] + stride - 1) / stride : room / stride + 1);
  }
  return made;
}

OnnxStates convolved(const OnnxCall& call) {
  const Weights weights = weights_of(call, 1, 2);
  const Shape& w = call.at(1).shape;
  if (w.size() < 3) call.refuse("has a weight of too few dimensions");
  const Shape made = windowed(call, w[0], {w.begin() + 2, w.end()});
  return one_state(convolution(call.tape, call.tensor(0), weights, {.inputs_per_output = elements_of(w) / w[0], .made = made}));
}

OnnxStates pooled(const OnnxCall& call) {
  const Shape& x = call.at(0).shape;
  if (x.size() < 3) call.refuse("pools a tensor that has no planes");
  Shape made{x[0], x[1]};
  if (call.node.op.starts_with("Global")) made.resize(x.size(), 1);
  else made = windowed(call, x[1], call.node.numbers("kernel_shape"));
  const bool largest = call.node.op == "MaxPool" || call.node.op == "GlobalMaxPool";
  return one_state(largest ? max_pool(call.tape, call.tensor(0), made) : average_pool(call.tape, call.tensor(0), made));
}

}  // namespace

OnnxOperator find_layer_operator(const std::string& op) {
  static const std::map<std::string, OnnxOperator> known{
      {"MatMul", product},      {"Gemm", gemm},           {"Gather", looked_up},      {"GatherElements", taken},
      {"Softmax", softmaxed},   {"LogSoftmax", softmaxed}, {"Conv", convolved},       {"ReduceMean", reduced},
      {"ReduceSum", reduced},   {"ReduceMax", reduced},   {"ReduceMin", reduced},     {"BatchNormalization", normed},
      {"MaxPool", pooled},      {"AveragePool", pooled},  {"GlobalAveragePool", pooled}, {"GlobalMaxPool", pooled},
      {"LayerNormalization", normed}, {"RMSNormalization", normed}, {"SimplifiedLayerNormalization", normed},
      {"GroupNormalization", normed}, {"InstanceNormalization", normed}};
  const auto found = known.find(op);
  return found == known.end() ? nullptr : found->second;
}

}  // namespace plimsoll
