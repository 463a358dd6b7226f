#include "sim/stack/megatron/rank_rows.h"
#include "sim/stack/tape/fp8_products.h"

namespace plimsoll {
namespace {

bool gathers(const MegatronCut& cut) { return cut.sequence_parallel && cut.tensor_ranks > 1; }

/// The input as forward reads it, and as backward finds it.
struct Fp8Input {
  Tensor rows;   ///< of all ranks
  Tensor saved;  ///< nothing where no gradient is recorded
};

Fp8Input input_of(Tape& tape, const Tensor& x, std::int64_t width, const MegatronCut& cut) {
  const bool again = gathers(cut);
  const Fp8Copies own = to_fp8(tape, x, {.rows = true, .columns = tape.grad_enabled() && !again});
  return {.rows = again ? all_rows(tape, own.rows, width, cut, Waits::kYes) : own.rows,
          .saved = !tape.grad_enabled() ? Tensor{} : again ? own.rows : own.columns};
}

/// The gradient of all rows in both readings: cast, and gathered in 8 bits where rows are cut.
Fp8Copies gradient_of(Tape& tape, const Tensor& dy, std::int64_t width, const MegatronCut& cut) {
  if (!gathers(cut)) return to_fp8(tape, dy, {.rows = true, .columns = true});
  const Fp8Copies own = to_fp8(tape, dy, {.rows = true});
  const Tensor whole = all_rows(tape, own.rows, width, cut, Waits::kYes);
  return {.rows = whole, .columns = fp8_columns(tape, whole)};
}

}  // namespace

Tensor fp8_column_parallel(Tape& tape, const Tensor& x, const Weights& weights, const MegatronCut& cut) {
  const Tensor weight = weights.weight->use();
  const Tensor bias = weights.bias != nullptr ? weights.bias->use() : Tensor{};
  const std::int64_t outputs = weight.shape[0], inputs = weight.shape[1];
  Fp8Input input = input_of(tape, x, inputs, cut);
  cached_fp8(tape, *weights.weight);
  Tensor out = tape.empty({cut.rows(), outputs}, x.dtype);
  fp8_product(tape, cut.rows(), outputs, inputs, x.dtype);
  input.rows = {};
  return tape.record(std::move(out), {&x, &weight, &bias},
                     [=, saved = input.saved, shape = x.shape, type = x.dtype, has_bias = bool(bias)](Tape& t, Tensors gradients) {
                       Tensors results(3);
                       const Fp8Copies dy = to_fp8(t, gradients[0], {.rows = true, .columns = true});
                       Tensor dx = t.empty({cut.rows(), inputs}, type);
                       fp8_product(t, cut.rows(), inputs, outputs, type);
                       const Tensor again = gathers(cut) ? fp8_columns(t, all_rows(t, saved, inputs, cut, beside_products(cut))) : saved;
                       results[1] = weight_gradient(t, {outputs, inputs}, type, cut);
                       fp8_product(t, outputs, inputs, cut.rows(), type);
                       results[0] = summed(t, std::move(dx), shape, cut, beside_products(cut));
                       results[2] = bias_gradient(t, gradients[0], has_bias, outputs);
                       return results;
                     });
}

Tensor fp8_row_parallel(Tape& tape, const Tensor& x, const Weights& weights, const MegatronCut& cut) {
  const Tensor weight = weights.weight->use();
  const std::int64_t outputs = weight.shape[0], inputs = weight.shape[1];
  Fp8Copies low = to_fp8(tape, x, {.rows = true, .columns = tape.grad_enabled()});
  cached_fp8(tape, *weights.weight);
  Tensor whole = tape.empty({cut.rows(), outputs}, x.dtype);
  fp8_product(tape, cut.rows(), outputs, inputs, x.dtype);
  low.rows = {};
  Tensor out = summed(tape, std::move(whole), {cut.stream_rows(), outputs}, cut, Waits::kYes);
  return tape.record(std::move(out), {&x, &weight}, [=, saved = low.columns, shape = x.shape, type = x.dtype](Tape& t, Tensors gradients) {
    Tensors results(2);
    const Fp8Copies dy = gradient_of(t, gradients[0], outputs, cut);
    results[0] = t.empty(shape, type);
    fp8_product(t, cut.rows(), inputs, outputs, type);
    results[1] = weight_gradient(t, {outputs, inputs}, type, cut);
    fp8_product(t, outputs, inputs, cut.rows(), type);
    return results;
  });
}

}  // namespace plimsoll
