#include "sim/stack/nets/net_layers.h"

namespace plimsoll {
namespace {

Tensor heads_of(Tape& tape, const Tensor& x, std::int64_t heads) {
  return transpose(tape, view(tape, x, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
}

Tensor written_out(Tape& tape, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias) {
  Tensor scores = scale(tape, matmul(tape, q, transpose(tape, k, 2, 3)));
  if (bias) scores = add(tape, scores, bias);
  const DType narrow_type = scores.dtype;
  const Tensor shares =
      cast(tape, softmax(tape, std::exchange(scores, {}), tape.autocast() ? DType::kFp32 : narrow_type), narrow_type);
  return matmul(tape, shares, v);
}

}  // namespace

Weights NetMaker::linear(const std::string& name, std::int64_t inputs, std::int64_t outputs, bool bias) const {
  Weights made{.weight = &tape.parameter(name + ".weight", {outputs, inputs}, dtype)};
  if (bias) made.bias = &tape.parameter(name + ".bias", {outputs}, dtype);
  return made;
}

Weights NetMaker::convolution(const std::string& name, std::int64_t inputs, std::int64_t outputs, std::int64_t width) const {
  return linear(name, inputs * width * width, outputs);
}

Weights NetMaker::norm(const std::string& name, std::int64_t channels) const {
  return {.weight = &tape.parameter(name + ".weight", {channels}, dtype),
          .bias = &tape.parameter(name + ".bias", {channels}, dtype)};
}

Tensor group_norm(Tape& tape, const Tensor& input, const Weights& weights, std::int64_t groups) {
  const Tensor x = tape.autocast() ? cast(tape, input, DType::kFp32) : input;
  const Tensor weight = weights.weight->use();
  const Tensor bias = weights.bias->use();
  const Tensor mean = tape.empty({x.size(0), groups}, DType::kFp32);
  const Tensor root = tape.empty({x.size(0), groups}, DType::kFp32);
  Tensor out = tape.empty(x.shape, x.dtype);
  tape.stream(3 * traffic(x), x.dtype);  // once for the statistics, once for the numbers
  return tape.record(std::move(out), {&x, &weight, &bias},
                     [saved = x.detached(), mean, root, weight](Tape& t, Tensors gradients) {
                       Tensors results;
                       results.push_back(t.empty(saved.shape, saved.dtype));
                       results.push_back(t.empty(weight.shape, weight.dtype));
                       results.push_back(t.empty(weight.shape, weight.dtype));
                       t.stream(3 * traffic(saved) + 2 * traffic(gradients[0]), saved.dtype);
                       return results;
                     });
}

Tensor upsample(Tape& tape, const Tensor& x) {
  Tensor out = tape.empty({x.size(0), x.size(1), 2 * x.size(2), 2 * x.size(3)}, x.dtype);
  tape.stream(traffic(x) + traffic(out), x.dtype);
  return tape.record(std::move(out), {&x}, [shape = x.shape, dtype = x.dtype](Tape& t, Tensors gradients) {
    Tensor dx = t.empty(shape, dtype);
    t.stream(traffic(gradients[0]) + traffic(dx), dtype);
    return only(std::move(dx));
  });
}

Tensor plane_convolution(Tape& tape, const Tensor& x, const Weights& weights, std::int64_t outputs, std::int64_t width,
                         std::int64_t stride) {
  return convolution(tape, x, weights,
                     {.inputs_per_output = x.size(1) * width * width,
                      .made = {x.size(0), outputs, (x.size(2) + stride - 1) / stride, (x.size(3) + stride - 1) / stride}});
}

Tensor net_attention(Tape& tape, const Tensor& q, const Tensor& k, const Tensor& v, const NetAttention& how, const Tensor& bias) {
  const Tensor queries = heads_of(tape, q, how.heads), keys = heads_of(tape, k, how.heads), values = heads_of(tape, v, how.heads);
  Tensor out;
  if (how.flash && !bias) {
    out = fused_attention(
        tape, queries, keys, values,
        {.heads = how.heads, .sequence = q.size(1), .keys = k.size(1), .head_dim = q.size(2) / how.heads, .causal = false});
  } else {
    out = written_out(tape, queries, keys, values, bias);
  }
  return view(tape, contiguous(tape, transpose(tape, out, 1, 2)), {q.size(0), q.size(1), q.size(2)});
}

Tensor mean_square(Tape& tape, const Tensor& x) {
  const Tensor wide = cast(tape, x, DType::kFp32);
  const Tensor difference = add(tape, wide, tape.empty(wide.shape, DType::kFp32));
  return mean_of_rows(tape, view(tape, from_input(tape, difference), {1, difference.elements()}));
}

}  // namespace plimsoll
