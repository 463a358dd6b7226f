#include "sim/stack/megatron/rank_rows.h"

namespace plimsoll {

Tensor column_parallel(Tape& tape, const Tensor& x, const Weights& weights, const MegatronCut& cut) {
  if (weights.fp8) return fp8_column_parallel(tape, x, weights, cut);
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
    t.turned_product(1, outputs, inputs, cut.rows(), saved.dtype);
    results[0] = summed(t, std::move(dx), saved.shape, cut, beside_products(cut));
    results[2] = bias_gradient(t, gradients[0], has_bias, outputs);
    return results;
  });
}

Tensor row_parallel(Tape& tape, const Tensor& x, const Weights& weights, const MegatronCut& cut) {
  if (weights.fp8) return fp8_row_parallel(tape, x, weights, cut);
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
    t.turned_product(1, outputs, inputs, cut.rows(), saved.dtype);
    return results;
  });
}

}  // namespace plimsoll
