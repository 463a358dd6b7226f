#include "sim/stack/tape/fp8_products.h"

#include <utility>

namespace plimsoll {
namespace {

/// What backward needs of a forward pass in 8 bits.
struct Fp8Memory {
  Tensor input;   ///< nothing when the weight is frozen
  Tensor weight;  ///< nothing when the input needs no gradient
  Shape x_shape;
  Shape weight_shape;
  DType type = DType::kBf16;         ///< of what the products write
  DType weight_type = DType::kBf16;
  bool bias = false;
  bool wide = false;  ///< in two bytes where they came so: cast once more
};

/// As backward multiplies it. What ranks gathered in 8 bits lies by rows.
Tensor read_again(Tape& tape, const Tensor& saved, bool wide) {
  if (!wide) return saved;
  return saved.dtype == kFp8Type ? fp8_columns(tape, saved) : to_fp8(tape, saved, {.columns = true}).columns;
}

/// A result's gradient in the readings that somebody asks for; ranks that gathered it in 8 bits have one of them.
Fp8Copies low_gradient(Tape& tape, const Tensor& dy, Fp8Uses uses) {
  if (dy.dtype != kFp8Type) return to_fp8(tape, dy, uses);
  return {.rows = dy, .columns = uses.columns ? fp8_columns(tape, dy) : Tensor{}};
}

/// The weight's gradient in the weight's type, as autograd hands it over.
Tensor weight_gradient(Tape& tape, const Fp8Memory& memory, std::int64_t rows, DType narrow) {
  Tensor made = tape.empty(memory.weight_shape, narrow);
  fp8_product(tape, memory.weight_shape[0], memory.weight_shape[1], rows, narrow);
  return cast(tape, made, memory.weight_type);
}

Tensors fp8_backward(Tape& tape, const Fp8Memory& memory, const Tensor& gradient) {
  const std::int64_t outputs = memory.weight_shape[0];
  const std::int64_t rows = gradient.elements() / outputs;
  Tensors results(3);
  const Tensor dy = gradient.contiguous() ? gradient : view(tape, gradient.detached(), gradient.shape);
  const Fp8Copies low = low_gradient(tape, dy, {.rows = bool(memory.weight), .columns = bool(memory.input)});
  if (memory.weight) {
    const Tensor weight = read_again(tape, memory.weight, memory.wide);
    results[0] = tape.empty(memory.x_shape, memory.type);
    fp8_product(tape, rows, memory.weight_shape[1], outputs, memory.type);
  }
  if (memory.input) {
    const Tensor input = read_again(tape, memory.input, memory.wide);
    results[1] = weight_gradient(tape, memory, rows, memory.type);
  }
  if (memory.bias) {
    results[2] = tape.empty({outputs}, memory.type);
    tape.sum_rows(dy, results[2]);
  }
  return results;
}

}  // namespace

Fp8Copies to_fp8(Tape& tape, const Tensor& x, Fp8Uses uses) {
  const Fp8Rules& rules = tape.options().fp8;
  Fp8Copies made;
  double written = 0;
  if (uses.rows || (uses.columns && !rules.transposes)) made.rows = tape.empty(x.shape, kFp8Type);
  if (uses.columns) made.columns = rules.transposes ? tape.empty(x.shape, kFp8Type) : made.rows;
  if (made.rows) written += traffic(made.rows);
  if (made.columns && rules.transposes) written += traffic(made.columns);
  if (written == 0) return made;
  if (rules.finds_largest) tape.stream(traffic(x), x.dtype);
  tape.pass(traffic(x) + written, x.dtype);
  return made;
}

Tensor fp8_columns(Tape& tape, const Tensor& rows) {
  if (!tape.options().fp8.transposes) return rows;
  Tensor made = tape.empty(rows.shape, kFp8Type);
  tape.pass(2 * traffic(rows), kFp8Type);
  return made;
}

Fp8Copies cached_fp8(Tape& tape, Parameter& weight) {
  const Fp8Rules& rules = tape.options().fp8;
  const bool own = weight.value.dtype == kFp8Type;  // the weight is in 8 bits itself
  const std::size_t copies = (own ? 0U : 1U) + (rules.transposes ? 1U : 0U);
  if (weight.low.size() != copies) {
    weight.low.clear();
    for (std::size_t i = 0; i < copies; ++i) weight.low.push_back(tape.empty(weight.value.shape, kFp8Type, Holding::kParameters));
  }
  if (weight.low_of_step != tape.step() && copies > 0) {
    if (rules.finds_largest && !own) tape.stream(traffic(weight.value), weight.value.dtype);
    tape.pass(traffic(weight.value) + static_cast<double>(copies) * traffic(weight.low.front()), weight.value.dtype);
  }
  weight.low_of_step = tape.step();
  Fp8Copies made{.rows = own ? weight.value : weight.low.front(), .columns = {}};
  made.columns = rules.transposes ? weight.low.back() : made.rows;
  return made;
}

void fp8_product(Tape& tape, std::int64_t rows, std::int64_t columns, std::int64_t inner, DType result) {
  tape.product(1, rows, columns, inner, kFp8Type, result);
}

Tensor fp8_linear(Tape& tape, const Tensor& input, const Weights& weights) {
  const bool wide = tape.options().fp8.keeps_wide;
  const bool gathered = input.dtype == kFp8Type;
  const Tensor x = gathered ? input : tape.as_autocast(input);
  const Tensor rows = x.contiguous() ? x : contiguous(tape, x);
  const Tensor own = weights.weight->use();
  const Tensor weight = wide ? tape.as_autocast(own) : own;  // Transformer Engine casts from the weight's own type
  const Tensor bias = weights.bias != nullptr ? tape.as_autocast(weights.bias->use()) : Tensor{};
  const std::int64_t outputs = weight.shape[0];
  const DType type = gathered ? weight.dtype : x.dtype;
  const bool trains = tape.grad_enabled() && weight.needs_gradient(), passes_on = tape.grad_enabled() && rows.needs_gradient();
  Fp8Copies low_x, low_weight;
  const auto cast_both = [&] {
    low_x = gathered ? Fp8Copies{.rows = rows, .columns = {}} : to_fp8(tape, rows, {.rows = true, .columns = trains && !wide});
    low_weight = to_fp8(tape, weight, {.rows = true, .columns = passes_on && !wide});
  };
  if (!wide) cast_both();
  Shape shape = x.shape;
  shape.back() = outputs;
  Tensor out = tape.results_of(StackKernelSort::kProduct, [&] {
    if (wide) cast_both();  // nobody reads them where the result was kept
    Tensors made{tape.empty(shape, type)};
    fp8_product(tape, x.elements() / x.size(-1), outputs, x.size(-1), type);
    if (bias) tape.bias_workspace();
    return made;
  }).front();
  Fp8Memory memory{.input = !trains ? Tensor{} : wide ? rows.detached() : low_x.columns,
                   .weight = !passes_on ? Tensor{} : wide ? weight.detached() : low_weight.columns,
                   .x_shape = x.shape, .weight_shape = weight.shape, .type = type, .weight_type = weight.dtype,
                   .bias = bias && bias.needs_gradient(), .wide = wide};
  low_x = low_weight = {};
  return tape.record(std::move(out), {&rows, &weight, &bias}, [memory = std::move(memory)](Tape& t, Tensors gradients) {
    return fp8_backward(t, memory, gradients[0]);
  });
}

}  // namespace plimsoll
