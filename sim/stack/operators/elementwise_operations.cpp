#include "sim/stack/operators/elementwise_operations.h"

#include "sim/stack/tape/operations.h"

namespace plimsoll {
namespace {

Tensor like(Tape& tape, const Tensor& x) { return tape.empty(x.shape, x.dtype); }

/// One tensor's numbers seen at every place of another shape.
Tensor spread(const Tensor& x, const Shape& shape) {
  Tensor out = x.detached();
  out.shape = shape;
  out.order = {kStrided};
  return out;
}

Tensor sum_into(Tape& tape, const Tensor& x, Shape shape) {
  return tape.record(tape.empty(std::move(shape), x.dtype), {&x},
                     [whole = x.shape](Tape&, Tensors gradients) { return only(spread(gradients[0], whole)); });
}

}  // namespace

Tensor subtract(Tape& tape, const Tensor& a, const Tensor& b) {
  const bool need_a = a.needs_gradient();
  const bool need_b = b.needs_gradient();
  return tape.record(like(tape, a), {&a, &b}, [need_a, need_b](Tape& t, Tensors gradients) {
    Tensors results(2);
    if (need_a) results[0] = gradients[0];
    if (need_b) results[1] = like(t, gradients[0]);
    return results;
  });
}

Tensor absolute(Tape& tape, const Tensor& x) {
  return tape.record(like(tape, x), {&x}, [saved = x.detached()](Tape& t, Tensors) {
    const Tensor signs = like(t, saved);
    return only(like(t, saved));
  });
}

Tensor total(Tape& tape, const Tensor& x) { return sum_into(tape, x, {1}); }

Tensor sum_of_rows(Tape& tape, const Tensor& x) {
  Shape shape = x.shape;
  shape.back() = 1;
  return sum_into(tape, x, std::move(shape));
}

Tensor picked_of_rows(Tape& tape, const Tensor& x) {
  Shape row = x.shape;
  row.back() = 1;
  return tape.record(tape.empty(std::move(row), x.dtype), {&x}, [whole = x.shape, dtype = x.dtype](Tape& t, Tensors) {
    return only(t.empty(whole, dtype));
  });
}

Tensor divergence(Tape& tape, const Tensor& x, const Tensor& target) {
  const Tensor probabilities = from_result(tape, target);
  return multiply(tape, probabilities, subtract(tape, target, x));
}

Tensor derived(Tape& tape, Parameter& source, const Tensor& values, int transients) {
  const Tensor input = leaf(tape, source);
  return tape.record(values.detached(), {&input}, [values, transients](Tape& t, Tensors) {
    Tensors made;
    for (int i = 0; i < transients; ++i) made.push_back(like(t, values));
    return only(like(t, values));
  });
}

}  // namespace plimsoll
