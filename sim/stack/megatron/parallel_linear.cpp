#include <utility>

#include "sim/stack/megatron/megatron_layers.h"

namespace plimsoll {
namespace {

/// Whether kernels wait for a collective, or run beside it: Megatron-LM sends gradients of inputs, and gathers what gradients of
/// weights need, beside the backward pass's products.
enum class Waits : bool { kNo, kYes };

Waits beside_products(const MegatronCut& cut) { return cut.overlaps ? Waits::kNo : Waits::kYes; }

/// A collective among tensor-parallel ranks of so many gathered bytes.
void among_ranks(Tape& tape, const Tensor& whole, const MegatronCut& cut, int times, Waits waits) {
  if (cut.tensor_ranks < 2) return;
  const auto ranks = static_cast<double>(cut.tensor_ranks);
  tape.launch({.sort = StackKernelSort::kCollective, .dtype = whole.dtype, .blocking = waits == Waits::kYes,
               .among = Among::kTensor, .rounds = static_cast<std::uint8_t>(times), .ranks = cut.tensor_ranks,
               .bytes = times * traffic(whole) * (ranks - 1) / ranks});
}

/// All rows of what is cut by rows; itself otherwise.
Tensor all_rows(Tape& tape, const Tensor& x, std::int64_t width, const MegatronCut& cut, Waits waits) {
  if (!cut.sequence_parallel || cut.tensor_ranks < 2) return x.detached();
  Tensor whole = tape.empty({cut.rows(), width}, x.dtype);
  among_ranks(tape, whole, cut, 1, waits);
  return whole;
}

/// Sums over the ranks: in place, or each rank its own rows.
Tensor summed(Tape& tape, Tensor whole, const Shape& own, const MegatronCut& cut, Waits waits) {
  if (cut.tensor_ranks < 2) return whole;
  if (!cut.sequence_parallel) {
    among_ranks(tape, whole, cut, 2, waits);
    return whole;
  }
  among_ranks(tape, whole, cut, 1, waits);
  return tape.empty(own, whole.dtype);
}

/// The gradient of a matrix, where the product does not add it into a buffer.
Tensor weight_gradient(Tape& tape, Shape shape, DType dtype, const MegatronCut& cut) {
  return cut.own_gradients ? tape.empty(std::move(shape), dtype) : Tensor{};
}

/// The bias' gradient exists for a moment until it is added into its buffer.
Tensor bias_gradient(Tape& tape, const Tensor& dy, bool there, std::int64_t width) {
  if (!there) return {};
  tape.stream(traffic(dy), dy.dtype);
  return tape.empty({width}, dy.dtype);
}

}  // namespace

Tensor column_parallel(Tape& tape, const Tensor& x, const Weights& weights, const MegatronCut& cut) {
  const Tensor weight = weights.weight->use();
  const Tensor bias = weights.bias != nullptr ? weights.bias->use() : Tensor{};
  const std::int64_t outputs = weight.shape[0];
  const std::int64_t inputs = weight.shape[1];
  Tensor gathered = all_rows(tape, x, inputs, cut, Waits::kYes);
  Tensor out = tape.empty({cut.rows(), outputs}, x.dtype);
  tape.product(1, cut.rows(), outputs, inputs, x.dtype);
  gathered = {};
  return tape.record(std::move(out), {&x, &weight, &bias}, [=, saved = x.detached(), has_bias = bool(bias)](Tape& t, Tensors gradients) {
    Tensors results(3);
    const Tensor again = all_rows(t, saved, inputs, cut, beside_products(cut));
    Tensor dx = t.empty({cut.rows(), inputs}, saved.dtype);
    t.product(1, cut.rows(), inputs, outputs, saved.dtype);
    results[1] = weight_gradient(t, {outputs, inputs}, saved.dtype, cut);
    t.product(1, outputs, inputs, cut.rows(), saved.dtype);
    results[0] = summed(t, std::move(dx), saved.shape, cut, beside_products(cut));
    results[2] = bias_gradient(t, gradients[0], has_bias, outputs);
    return results;
  });
}

Tensor row_parallel(Tape& tape, const Tensor& x, const Weights& weights, const MegatronCut& cut) {
  const Tensor weight = weights.weight->use();
  const std::int64_t outputs = weight.shape[0];
  const std::int64_t inputs = weight.shape[1];
  Tensor whole = tape.empty({cut.rows(), outputs}, x.dtype);
  tape.product(1, cut.rows(), outputs, inputs, x.dtype);
  Tensor out = summed(tape, std::move(whole), {cut.stream_rows(), outputs}, cut, Waits::kYes);
  return tape.record(std::move(out), {&x, &weight}, [=, saved = x.detached()](Tape& t, Tensors gradients) {
    Tensors results(2);
    const Tensor dy = all_rows(t, gradients[0], outputs, cut, Waits::kYes);
    results[0] = t.empty(saved.shape, saved.dtype);
    t.product(1, cut.rows(), inputs, outputs, saved.dtype);
    results[1] = weight_gradient(t, {outputs, inputs}, saved.dtype, cut);
    t.product(1, outputs, inputs, cut.rows(), saved.dtype);
    return results;
  });
}

}  // namespace plimsoll
