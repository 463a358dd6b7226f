#include "sim/stack/tape/operations.h"

namespace plimsoll {

Tensor in_fp32(Tape& tape, const Tensor& x) { return tape.autocast() ? cast(tape, x, DType::kFp32) : x; }

namespace {

/// Gradients of a normalization: dx, and the weight's by way of partial sums.
Tensors norm_backward(Tape& tape, const Tensor& x, const Tensor& dy, const Shape& weight, DType weight_type, bool bias) {
  Tensors results(3);
  results[0] = tape.empty(x.shape, x.dtype);
  results[0].order = x.order;
  tape.stream(traffic(x) + traffic(dy) + traffic(results[0]), x.dtype);
  if (!weight.empty()) {
    results[1] = tape.empty(weight, weight_type);
    if (bias) results[2] = tape.empty(weight, weight_type);
    tape.stream(traffic(x) + traffic(dy), x.dtype);
  }
  return results;
}

}  // namespace

Tensor layer_norm(Tape& tape, const Tensor& input, const Weights& weights) {
  const Tensor x = in_fp32(tape, input);
  const Tensor weight = weights.weight != nullptr ? weights.weight->use() : Tensor{};
  const Tensor bias = weights.bias != nullptr ? weights.bias->use() : Tensor{};
  Tensor out = tape.empty(x.shape, x.dtype);
  Shape rows = x.shape;
  rows.back() = 1;
  const Tensor mean = tape.empty(rows, DType::kFp32);
  const Tensor root = tape.empty(rows, DType::kFp32);
  tape.stream(traffic(x) + traffic(out), x.dtype);
  const Shape shape = weight && weight.needs_gradient() ? weight.shape : Shape{};
  return tape.record(std::move(out), {&x, &weight, &bias},
                     [saved = x.detached(), mean, root, shape, type = weight ? weight.dtype : DType::kFp32, has_bias = bool(bias)](
                         Tape& t, Tensors gradients) { return norm_backward(t, saved, gradients[0], shape, type, has_bias); });
}

Tensor fused_rms_norm(Tape& tape, const Tensor& x, Parameter& parameter) {
  const Tensor weight = parameter.use();
  Tensor out = tape.empty(x.shape, x.dtype);
  Shape rows = x.shape;
  rows.back() = 1;
  const Tensor root = tape.empty(rows, DType::kFp32);
  tape.stream(traffic(x) + traffic(out), x.dtype);
  const Shape shape = weight.needs_gradient() ? weight.shape : Shape{};
  return tape.record(std::move(out), {&x, &weight}, [saved = x.detached(), root, shape, type = weight.dtype](Tape& t, Tensors gradients) {
    Tensors results = norm_backward(t, saved, gradients[0], shape, type, false);
    results.resize(2);
    return results;
  });
}

Tensor embedding(Tape& tape, const Tensor& indices, Parameter& table) {
  const Tensor weight = table.use();
  Shape shape = indices.shape;
  shape.push_back(weight.shape[1]);
  Tensor out = tape.empty(std::move(shape), weight.dtype);
  tape.stream(2 * traffic(out), out.dtype);
  return tape.record(std::move(out), {&weight}, [indices, rows = weight.shape, type = weight.dtype](Tape& t, Tensors gradients) {
    Tensors results(1);
    results[0] = t.empty(rows, type);
    t.stream(traffic(results[0]) + 2 * traffic(gradients[0]), type);
    return results;
  });
}

Tensor log_softmax(Tape& tape, const Tensor& x) {
  Tensor out = tape.empty(x.shape, x.dtype);
  tape.stream(2 * traffic(x), x.dtype);
  const Tensor saved = out.detached(), input = tape.options().softmax_keeps_input ? x.detached() : Tensor{};
  return tape.record(std::move(out), {&x}, [saved, input](Tape& t, Tensors) {
    Tensor dx = t.empty(saved.shape, saved.dtype);
    t.stream(3 * traffic(saved), saved.dtype);
    return only(std::move(dx));
  });
}

namespace {

/// Its gradient is zeros but for the targets.
Tensor negative_likelihood(Tape& tape, const Tensor& log_probabilities) {
  const Tensor weight = tape.empty({1}, DType::kFp32);
  Tensor loss = tape.empty({1}, DType::kFp32);
  return tape.record(std::move(loss), {&log_probabilities}, [saved = log_probabilities.detached(), weight](Tape& t, Tensors) {
    Tensor sparse = t.empty(saved.shape, saved.dtype);
    t.stream(traffic(sparse), sparse.dtype);
    return only(std::move(sparse));
  });
}

}  // namespace

/// PyTorch names the logits' own type for the softmax, which autocast leaves alone; what the likelihood reads it widens.
Tensor cross_entropy(Tape& tape, const Tensor& logits) {
  return negative_likelihood(tape, in_fp32(tape, log_softmax(tape, logits)));
}

Tensor compiled_cross_entropy(Tape& tape, const Tensor& logits, bool returned) {
  Tensor loss = tape.empty({1}, DType::kFp32);
  const Tensor sums = tape.empty({2, logits.elements() / logits.size(-1)}, DType::kFp32);
  tape.pass(traffic(logits), logits.dtype);
  return tape.record(std::move(loss), {&logits}, [saved = logits.detached(), sums, returned](Tape& t, Tensors) {
    const Tensor zeros = returned ? t.empty(saved.shape, saved.dtype) : Tensor{};
    if (returned) t.pass(2 * traffic(zeros), zeros.dtype);
    Tensors results(1);
    results[0] = t.empty(saved.shape, saved.dtype);
    t.pass(2 * traffic(saved), saved.dtype);
    return results;
  });
}

Tensor fused_cross_entropy(Tape& tape, const Tensor& logits) {
  Tensor loss = tape.empty({logits.elements() / logits.size(-1)}, DType::kFp32);
  const Tensor sums = tape.empty(loss.shape, DType::kFp32);
  tape.stream(traffic(logits), logits.dtype);
  return tape.record(std::move(loss), {&logits}, [saved = logits.detached(), sums](Tape& t, Tensors) {
    t.stream(2 * traffic(saved), saved.dtype);
    Tensors results;
    results.push_back(saved);
    return results;
  });
}

}  // namespace plimsoll
