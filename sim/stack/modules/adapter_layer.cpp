#include "sim/stack/modules/adapter_layer.h"

#include <algorithm>
#include <utility>

#include "sim/stack/modules/adapter_deltas.h"

namespace plimsoll {
namespace {

/// What adapters read, in their own type; beside bitsandbytes' layers PEFT leaves that to autocast where there is one.
Tensor own_input(Tape& tape, const Tensor& x, const DenseLayer& layer) {
  const AdapterWeights& adapter = layer.adapter;
  const DType dtype = (adapter.vector != nullptr ? adapter.vector : adapter.down)->value.dtype;
  return layer.encoded && tape.autocast() ? x : cast(tape, x, dtype);
}

Tensor low_rank(Tape& tape, const Tensor& x, const AdapterWeights& adapter) {
  return linear(tape, linear(tape, x, {.weight = adapter.down}), {.weight = adapter.up});
}

/// Both operands go before the sum gets the layer's type again, as names that move on let them go.
Tensor summed(Tape& tape, Tensor out, Tensor more, DType dtype) {
  const Tensor sum = add(tape, std::exchange(out, {}), std::exchange(more, {}));
  return cast(tape, sum, dtype);
}

Tensor with_lora(Tape& tape, const Tensor& x, Tensor out, const DenseLayer& layer) {
  const Tensor own = own_input(tape, x, layer);  // a name of its own, which lives as long as the layer runs
  Tensor low = low_rank(tape, dropout(tape, own, layer.adapter.dropout), layer.adapter);
  low = scale(tape, low);
  const DType dtype = out.dtype;
  // Beside bitsandbytes' layers what is added is converted, elsewhere the sum.
  if (!layer.encoded) return tape.autocast() ? add(tape, out, low) : summed(tape, std::move(out), std::move(low), dtype);
  if (!tape.autocast()) low = cast(tape, low, dtype);
  return add(tape, out, low);
}

/// (m − 1) · base + m · BAx, with m the magnitudes over the lengths of W + BA's rows.
Tensor magnified(Tape& tape, const Tensor& x, const Tensor& out, const DenseLayer& layer) {
  const Tensor delta = cast(tape, low_rank_delta(tape, layer), x.dtype);
  const Tensor weight = cast(tape, whole_weight(tape, layer), x.dtype);
  const Tensor quotient = multiply(tape, layer.adapter.vector->use(), row_lengths(tape, weight, delta));
  const Tensor factor = view(tape, quotient, {1, layer.outputs});
  const Tensor low = low_rank(tape, x, layer.adapter);
  // What was dropped has no result of the frozen layer yet.
  const bool dropped = layer.adapter.dropout > 0;
  const Tensor base = dropped                 ? linear(tape, x, weight, Tensor{})
                      : layer.bias != nullptr ? add(tape, out, layer.bias->use())
                                              : out;
  const Tensor direction = multiply(tape, shift(tape, factor), base);
  Tensor added = multiply(tape, factor, low);
  added = scale(tape, added);
  return add(tape, direction, added);
}

Tensor with_dora(Tape& tape, const Tensor& x, Tensor out, const DenseLayer& layer) {
  const Tensor own = own_input(tape, x, layer);
  const Tensor read = dropout(tape, own, layer.adapter.dropout);
  Tensor more = magnified(tape, read, out, layer);
  const DType dtype = layer.encoded && tape.autocast() ? more.dtype : out.dtype;
  return summed(tape, std::move(out), std::move(more), dtype);
}

/// Adds to `out` in place, whatever the type of what is added.
Tensor added_in_place(Tape& tape, const Tensor& out, const Tensor& more) {
  tape.stream(2 * traffic(out) + traffic(more), out.dtype);
  return tape.record(out.detached(), {&out, &more}, [needs = out.needs_gradient(), dtype = more.dtype](Tape& t, Tensors gradients) {
    Tensors results(2);
    results[1] = cast(t, gradients[0].detached(), dtype);
    if (needs) results[0] = std::move(gradients[0]);
    return results;
  });
}

Tensor with_adalora(Tape& tape, const Tensor& x, const Tensor& out, const DenseLayer& layer) {
  const AdapterWeights& adapter = layer.adapter;
  const Tensor own = own_input(tape, x, layer);
  const Tensor read = dropout(tape, own, adapter.dropout);
  const Tensor ranked = multiply(tape, adapter.down->use(), adapter.ranks->use());
  const Tensor up = adapter.up->use();
  // A view of B is multiplied, and of views autocast remembers no cast.
  const Tensor turned = tape.autocast() ? cast(tape, up, *tape.autocast()) : up;
  Tensor low = linear(tape, linear(tape, read, ranked, Tensor{}), turned, Tensor{});
  low = scale(tape, low);
  // Over how many ranks are left: a number in fp32, and so is what it makes.
  low = low.dtype == adapter.ranks->value.dtype ? scale(tape, low) : cast(tape, low, adapter.ranks->value.dtype);
  return added_in_place(tape, out, low);
}

/// Rows and columns of a shared matrix: a view.
Tensor part_of(Parameter& shared, const Shape& shape) {
  Tensor part = shared.use();
  part.shape = shape;
  return part;
}

Tensor with_vera(Tape& tape, const Tensor& x, Tensor out, const DenseLayer& layer) {
  const AdapterWeights& adapter = layer.adapter;
  const std::int64_t rank = adapter.ranks->value.shape[0];
  const Tensor down = part_of(*adapter.down, {rank, layer.inputs}), up = part_of(*adapter.up, {layer.outputs, rank});
  const Tensor own = own_input(tape, x, layer);
  const Tensor low = multiply(tape, adapter.ranks->use(), linear(tape, dropout(tape, own, adapter.dropout), down, Tensor{}));
  const DType dtype = out.dtype;
  return summed(tape, std::move(out), multiply(tape, adapter.vector->use(), linear(tape, low, up, Tensor{})), dtype);
}

/// Of a matrix that is made in full.
Tensor through_delta(Tape& tape, const Tensor& x, const DenseLayer& layer) {
  const Tensor delta = layer.adapter.method == AdapterMethod::kLoha ? hadamard_delta(tape, layer) : kronecker_delta(tape, layer);
  const Tensor read = cast(tape, x, delta.dtype);
  return linear(tape, read, delta, Tensor{});
}

Tensor with_delta(Tape& tape, const Tensor& x, Tensor out, const DenseLayer& layer) {
  const DType dtype = out.dtype;
  return summed(tape, std::move(out), through_delta(tape, x, layer), dtype);
}

/// PEFT multiplies all active factors first: a tensor of its own.
Tensor factors(Tape& tape, const AdapterWeights& adapter) { return scale(tape, adapter.vector->use()); }

}  // namespace

Tensor scaled_input(Tape& tape, const Tensor& x, const AdapterWeights& adapter) {
  const Tensor product = multiply(tape, cast(tape, x, adapter.vector->value.dtype), factors(tape, adapter));
  return cast(tape, product, x.dtype);
}

Tensor with_adapter(Tape& tape, const Tensor& x, Tensor out, const DenseLayer& layer) {
  // A copy, so that the sum may be taken in place.
  if (layer.encoded) out = scale(tape, out);
  switch (layer.adapter.method) {
    case AdapterMethod::kDora: return with_dora(tape, x, std::move(out), layer);
    case AdapterMethod::kAdalora: return with_adalora(tape, x, out, layer);
    case AdapterMethod::kVera: return with_vera(tape, x, std::move(out), layer);
    case AdapterMethod::kLoha:
    case AdapterMethod::kLokr: return with_delta(tape, x, std::move(out), layer);
    case AdapterMethod::kIa3: return cast(tape, multiply(tape, out, factors(tape, layer.adapter)), out.dtype);
    case AdapterMethod::kBias: return cast(tape, add(tape, out, layer.adapter.vector->use()), out.dtype);
    default: return with_lora(tape, x, std::move(out), layer);
  }
}

namespace {

/// The distance of P Pᵀ from a unit matrix; both of its factors are P.
Tensor distance_from_unit(Tape& tape, Parameter& parameter) {
  const Tensor matrix = parameter.use();
  const std::int64_t rank = std::min(matrix.shape[0], matrix.shape[1]), length = std::max(matrix.shape[0], matrix.shape[1]);
  const Tensor left = tape.as_autocast(matrix), right = cast(tape, matrix, left.dtype);  // of a view no cast is remembered
  Tensor gram = tape.empty({rank, rank}, left.dtype);
  tape.product(1, rank, rank, length, left.dtype);
  gram = tape.record(std::move(gram), {&left, &right}, [shape = matrix.shape, dtype = left.dtype, saved = Tensors{left.detached(), right.detached()}](Tape& t, Tensors) {
    Tensors results;
    for (int factor = 0; factor < 2; ++factor) results.push_back(t.empty(shape, dtype));
    return results;
  });
  const Tensor difference = shift(tape, gram);
  return tape.record(tape.empty({1}, difference.dtype), {&difference}, [difference = difference.detached()](Tape& t, Tensors) {
    return only(t.empty(difference.shape, difference.dtype));
  });
}

}  // namespace

Tensor with_orthogonality(Tape& tape, const Tensor& loss) {
  Tensor sum;
  for (Parameter& parameter : tape.parameters()) {
    if (!parameter.name.ends_with(".A") && !parameter.name.ends_with(".B")) continue;
    const Tensor one = distance_from_unit(tape, parameter);
    sum = sum ? add(tape, sum, one) : one;
  }
  return sum ? add(tape, loss, scale(tape, sum)) : loss;
}

}  // namespace plimsoll
