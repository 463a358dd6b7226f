#include <algorithm>

#include "sim/stack/tape/operations.h"

namespace plimsoll {
namespace {

/// A result lies in memory as its first operand does, of those that were not broadcast (PyTorch's TensorIterator). Parts of wider rows come out dense.
void lie_like(Tensor& out, const Tensor& a, const Tensor& b) {
  const Tensor& first = a.elements() == out.elements() ? a : b;
  if (first.order.size() == out.shape.size() && first.order.front() != kStrided) out.order = first.order;
}

DType wider(DType a, DType b) { return size_of(a) >= size_of(b) ? a : b; }

/// A new tensor like `x` that a kernel writes while it reads `read` bytes.
Tensor written(Tape& tape, const Tensor& x, double read) {
  Tensor out = tape.empty(x.shape, x.dtype);
  out.order = x.order;
  tape.stream(read + traffic(out), x.dtype);
  return out;
}

/// The gradient of an operand that was broadcast or narrower: summed up or cast, else the very same.
Tensor as_operand(Tape& tape, const Tensor& gradient, const Shape& shape, DType dtype) {
  const bool same = elements_of(shape) == gradient.elements() && dtype == gradient.dtype;
  if (same) return gradient;
  Tensor out = tape.empty(shape, dtype);
  const bool of_rows = elements_of(shape) < gradient.elements() && shape.back() == gradient.shape.back();
  of_rows ? tape.sum_rows(gradient, out) : tape.stream(traffic(gradient) + traffic(out), dtype);
  return out;
}

}  // namespace

Tensor add(Tape& tape, const Tensor& a, const Tensor& b) {
  const Tensor& larger = a.elements() >= b.elements() ? a : b;
  Tensor out = tape.empty(larger.shape, wider(a.dtype, b.dtype));
  lie_like(out, a, b);
  tape.stream(traffic(a) + traffic(b) + traffic(out), out.dtype);
  const bool need_a = a.needs_gradient();
  const bool need_b = b.needs_gradient();
  return tape.record(std::move(out), {&a, &b},
                     [sa = a.shape, ta = a.dtype, sb = b.shape, tb = b.dtype, need_a, need_b](Tape& t, Tensors gradients) {
                       Tensors results(2);
                       if (need_a) results[0] = as_operand(t, gradients[0], sa, ta);
                       if (need_b) results[1] = as_operand(t, gradients[0], sb, tb);
                       return results;
                     });
}

Tensor multiply(Tape& tape, const Tensor& a, const Tensor& b) {
  const Tensor& larger = a.elements() >= b.elements() ? a : b;
  Tensor out = tape.empty(larger.shape, wider(a.dtype, b.dtype));
  lie_like(out, a, b);
  tape.stream(traffic(a) + traffic(b) + traffic(out), out.dtype);
  const Tensor saved_a = b.needs_gradient() ? a.detached() : Tensor{};
  const Tensor saved_b = a.needs_gradient() ? b.detached() : Tensor{};
  const Tensor shape_a{.storage = nullptr, .shape = a.shape, .dtype = a.dtype};
  const Tensor shape_b{.storage = nullptr, .shape = b.shape, .dtype = b.dtype};
  return tape.record(std::move(out), {&a, &b}, [saved_a, saved_b, shape_a, shape_b](Tape& t, Tensors gradients) {
    const auto times = [&](const Tensor& other) -> Tensor {
      if (!other) return {};
      Tensor product = t.empty(gradients[0].shape, gradients[0].dtype);
      lie_like(product, gradients[0], other);
      t.stream(2 * traffic(gradients[0]) + traffic(other), product.dtype);
      return product;
    };
    // Both products are there before the engine brings them to their operands' shapes.
    Tensors results{times(saved_b), times(saved_a)};
    if (results[0]) results[0] = as_operand(t, results[0], shape_a.shape, shape_a.dtype);
    if (results[1]) results[1] = as_operand(t, results[1], shape_b.shape, shape_b.dtype);
    return results;
  });
}

Tensor scale(Tape& tape, const Tensor& x) {
  return tape.record(written(tape, x, traffic(x)), {&x}, [](Tape& t, Tensors gradients) {
    return only(written(t, gradients[0], traffic(gradients[0])));
  });
}

Tensor shift(Tape& tape, const Tensor& x) {
  return tape.record(written(tape, x, traffic(x)), {&x}, [](Tape&, Tensors gradients) { return only(std::move(gradients[0])); });
}

Tensor masked(Tape& tape, const Tensor& x) {
  // Each way reads and writes x's size, as a product with a number does.
  return scale(tape, x);
}

Tensor from_input(Tape& tape, const Tensor& x) {
  return tape.record(written(tape, x, traffic(x)), {&x}, [saved = x.detached()](Tape& t, Tensors gradients) {
    return only(written(t, gradients[0], traffic(saved) + traffic(gradients[0])));
  });
}

Tensor from_result(Tape& tape, const Tensor& x) {
  Tensor out = written(tape, x, traffic(x));
  const Tensor saved = out.detached();
  return tape.record(std::move(out), {&x}, [saved](Tape& t, Tensors gradients) {
    return only(written(t, gradients[0], traffic(saved) + traffic(gradients[0])));
  });
}

Tensor power(Tape& tape, const Tensor& base) {
  const Tensor x = in_fp32(tape, base);
  return tape.record(written(tape, x, traffic(x)), {&x}, [saved = x.detached()](Tape& t, Tensors gradients) {
    // gradient · (exponent · x^(exponent − 1)): the power, its multiple and the product are there at once.
    const Tensor lower = written(t, saved, traffic(saved));
    const Tensor multiple = written(t, saved, traffic(saved));
    return only(written(t, gradients[0], 2 * traffic(saved)));
  });
}

Tensor mean_of_rows(Tape& tape, const Tensor& x) {
  Shape shape = x.shape;
  shape.back() = 1;
  Tensor out = tape.empty(std::move(shape), x.dtype);
  tape.stream(traffic(x), x.dtype);
  return tape.record(std::move(out), {&x}, [whole = x.shape, dtype = x.dtype](Tape& t, Tensors) {
    Tensor spread = t.empty(whole, dtype);
    t.stream(traffic(spread), dtype);
    return only(std::move(spread));
  });
}

Tensor dropout(Tape& tape, const Tensor& x, double share) {
  if (share <= 0) return x;
  const Tensor mask = tape.empty(x.shape, kMaskType);
  Tensor out = tape.empty(x.shape, x.dtype);
  out.order = x.order;
  tape.stream(2 * traffic(x) + traffic(mask), x.dtype);
  return tape.record(std::move(out), {&x}, [mask](Tape& t, Tensors gradients) {
    return only(written(t, gradients[0], traffic(gradients[0]) + traffic(mask)));
  });
}

Tensor softmax(Tape& tape, const Tensor& scores, DType result) {
  // PyTorch's kernel widens fp16 while it reads it; scores in bf16 are converted before, and their gradient after.
  const bool widens = scores.dtype == DType::kFp16 && result == DType::kFp32;
  const Tensor x = widens ? scores : cast(tape, scores, result);
  Tensor out = tape.empty(x.shape, result);
  tape.stream(traffic(x) + traffic(out), result);
  const Tensor saved = out.detached(), input = tape.options().softmax_keeps_input ? x.detached() : Tensor{};
  return tape.record(std::move(out), {&x}, [saved, input, dtype = x.dtype](Tape& t, Tensors gradients) {
    const Tensor product = written(t, saved, traffic(gradients[0]));  // with the gradient, before rows are summed
    Tensor dx = t.empty(saved.shape, dtype);
    t.stream(traffic(saved) + traffic(gradients[0]) + traffic(dx), dtype);
    return only(std::move(dx));
  });
}

}  // namespace plimsoll
