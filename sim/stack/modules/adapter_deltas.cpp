#include "sim/stack/modules/adapter_deltas.h"

#include <utility>

namespace plimsoll {
namespace {

/// A kernel over two tensors into a third.
Tensor combined(Tape& tape, const Tensor& a, const Tensor& b, DType dtype) {
  Tensor out = tape.empty(a.shape, dtype);
  tape.stream(traffic(a) + traffic(b) + traffic(out), dtype);
  return out;
}

/// up · down, without a history.
Tensor low_rank_product(Tape& tape, const Shape& shape, std::int64_t rank, DType dtype) {
  Tensor out = tape.empty(shape, dtype);
  tape.product(1, shape[0], shape[1], rank, dtype);
  return out;
}

/// Gradients of one pair of LoHa's: with respect to up [outputs, rank] and down [rank, inputs].
void pair_gradients(Tape& tape, Tensors& results, const Shape& shape, std::int64_t rank) {
  results.push_back(tape.empty({shape[0], rank}, DType::kFp32));
  tape.product(1, shape[0], rank, shape[1], DType::kFp32);
  results.push_back(tape.empty({rank, shape[1]}, DType::kFp32));
  tape.turned_product(1, rank, shape[1], shape[0], DType::kFp32);
}

Tensors hadamard_backward(Tape& tape, const Tensor& gradient, const Shape& shape, std::int64_t rank) {
  const Tensor scaled = combined(tape, gradient, gradient, gradient.dtype);
  // Backward runs outside autocast: both products are made in the matrices' own type.
  Tensor other = low_rank_product(tape, shape, rank, DType::kFp32);
  Tensor part = combined(tape, scaled, other, DType::kFp32);
  other = {};
  Tensors results;
  pair_gradients(tape, results, shape, rank);
  other = low_rank_product(tape, shape, rank, DType::kFp32);
  Tensor second = combined(tape, scaled, other, DType::kFp32);  // one name for both: the first goes when the second is there
  other = {};
  part = std::move(second);
  pair_gradients(tape, results, shape, rank);
  return results;
}

/// Sums of a gradient as large as the product over what a factor is not of.
Tensor factor_gradient(Tape& tape, const Tensor& gradient, const Shape& shape) {
  Tensor sum = tape.empty(shape, gradient.dtype);
  tape.stream(traffic(gradient) + traffic(sum), sum.dtype);
  return sum;
}

Tensor kronecker(Tape& tape, const Tensor& outer, const Tensor& inner, const Shape& shape) {
  const DType dtype = size_of(outer.dtype) >= size_of(inner.dtype) ? outer.dtype : inner.dtype;
  Tensor out = tape.empty(shape, dtype);
  tape.stream(traffic(out), dtype);
  return tape.record(std::move(out), {&outer, &inner}, [a = outer.detached(), b = inner.detached()](Tape& t, Tensors gradients) {
    const Tensor of_outer = combined(t, gradients[0], gradients[0], gradients[0].dtype);
    const Tensor of_inner = combined(t, gradients[0], gradients[0], gradients[0].dtype);
    Tensors results;
    results.push_back(factor_gradient(t, of_outer, a.shape));
    results.push_back(factor_gradient(t, of_inner, b.shape));
    return results;
  });
}

}  // namespace

Tensor low_rank_delta(Tape& tape, const DenseLayer& layer) {
  const AdapterWeights& adapter = layer.adapter;
  const Tensor unit = tape.empty({layer.inputs, layer.inputs}, adapter.down->value.dtype);
  tape.stream(traffic(unit), unit.dtype);
  const Tensor rows = linear(tape, linear(tape, unit, {.weight = adapter.down}), {.weight = adapter.up});
  return transpose(tape, rows, 0, 1);
}

Tensor row_lengths(Tape& tape, const Tensor& weight, const Tensor& delta) {
  const Tensor sum = combined(tape, weight, scale(tape, delta.detached()), weight.dtype);
  const Tensor wide = in_fp32(tape, sum);
  const Tensor lengths = tape.empty({weight.shape[0]}, wide.dtype);
  tape.stream(traffic(wide), wide.dtype);
  return cast(tape, lengths, weight.dtype);
}

Tensor hadamard_delta(Tape& tape, const DenseLayer& layer) {
  const AdapterWeights& adapter = layer.adapter;
  const Tensor up = adapter.up->use(), down = adapter.down->use(), second_up = adapter.second_up->use(), second_down = adapter.second_down->use();
  const DType dtype = tape.autocast().value_or(up.dtype);
  const std::int64_t rank = down.shape[0];
  const Shape shape{layer.outputs, layer.inputs};
  Tensor first = low_rank_product(tape, shape, rank, dtype);
  Tensor second = low_rank_product(tape, shape, rank, dtype);
  Tensor both = combined(tape, first, second, dtype);
  first = second = {};
  Tensor out = combined(tape, both, both, dtype);
  both = {};
  return tape.record(std::move(out), {&up, &down, &second_up, &second_down}, [shape, rank](Tape& t, Tensors gradients) {
    return hadamard_backward(t, gradients[0], shape, rank);
  });
}

Tensor kronecker_delta(Tape& tape, const DenseLayer& layer) {
  const AdapterWeights& adapter = layer.adapter;
  const bool whole = adapter.up == nullptr;
  const Tensor inner = whole ? adapter.down->use() : matmul(tape, adapter.up->use(), adapter.down->use());
  const Tensor product = kronecker(tape, adapter.outer->use(), inner, {layer.outputs, layer.inputs});
  return scale(tape, product);
}

std::pair<std::int64_t, std::int64_t> near_root_factors(std::int64_t size) {
  std::int64_t below = 1;
  for (std::int64_t divisor = 2; divisor * divisor <= size; ++divisor) {
    if (size % divisor == 0) below = divisor;
  }
  return {below, size / below};
}

}  // namespace plimsoll
