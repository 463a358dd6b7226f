#include <algorithm>
#include <memory>

#include "sim/stack/tape/operations.h"

namespace plimsoll {
namespace {

Tensor copy_of(Tape& tape, const Tensor& x) {
  tape.stream(2 * traffic(x), x.dtype);
  return tape.empty(x.shape, x.dtype);
}

/// The same memory under another shape; a copy where the memory is not in order.
Tensor reshaped(Tape& tape, const Tensor& x, Shape shape) {
  Tensor out = x.contiguous() ? x.detached() : copy_of(tape, x);
  out.shape = std::move(shape);
  return out;
}

Tensor swapped(const Tensor& x, std::size_t first, std::size_t second) {
  Tensor out = x.detached();
  std::swap(out.shape[first], out.shape[second]);
  if (out.order.empty()) {
    for (std::size_t i = 0; i < out.shape.size(); ++i) out.order.push_back(static_cast<std::uint8_t>(i));
  }
  if (out.order.front() == kStrided) return out;
  std::replace(out.order.begin(), out.order.end(), static_cast<std::uint8_t>(first), kStrided);
  std::replace(out.order.begin(), out.order.end(), static_cast<std::uint8_t>(second), static_cast<std::uint8_t>(first));
  std::replace(out.order.begin(), out.order.end(), kStrided, static_cast<std::uint8_t>(second));
  if (std::is_sorted(out.order.begin(), out.order.end())) out.order.clear();
  return out;
}

}  // namespace

Tensor view(Tape& tape, const Tensor& x, Shape shape) {
  return tape.record(reshaped(tape, x, std::move(shape)), {&x}, [before = x.shape](Tape& t, Tensors gradients) {
    return only(reshaped(t, gradients[0], before));
  });
}

Tensor transpose(Tape& tape, const Tensor& x, std::size_t first, std::size_t second) {
  return tape.record(swapped(x, first, second), {&x}, [first, second](Tape&, Tensors gradients) {
    return only(swapped(gradients[0], first, second));
  });
}

Tensor contiguous(Tape& tape, const Tensor& x) {
  if (x.contiguous()) return x;
  return tape.record(copy_of(tape, x), {&x}, [](Tape&, Tensors gradients) { return only(std::move(gradients[0])); });
}

namespace {

/// Views of one tensor, whose gradients are written side by side into a new one.
Tensors parts_of(Tape& tape, const Tensor& x, Tensors outs) {
  return tape.record_all(std::move(outs), {&x}, [shape = x.shape, dtype = x.dtype](Tape& t, Tensors) {
    Tensor whole = t.empty(shape, dtype);
    t.stream(2 * traffic(whole), dtype);
    return only(std::move(whole));
  });
}

}  // namespace

Tensors split(Tape& tape, const Tensor& x, const std::vector<std::int64_t>& widths) {
  Tensors outs;
  for (const std::int64_t width : widths) {
    Tensor part = x.detached();
    part.shape.back() = width;
    outs.push_back(std::move(part));
  }
  return parts_of(tape, x, std::move(outs));
}

Tensors split_rows(Tape& tape, const Tensor& x, std::int64_t parts) {
  Tensors outs;
  const std::int64_t each = (x.shape.front() + parts - 1) / parts;
  for (std::int64_t first = 0; first < x.shape.front(); first += each) {
    Tensor part = x.detached();
    part.shape.front() = std::min(each, x.shape.front() - first);
    outs.push_back(std::move(part));
  }
  return parts_of(tape, x, std::move(outs));
}

Tensor narrow(Tape& tape, const Tensor& x, std::size_t dimension, std::int64_t count) {
  Tensor out = x.detached();
  out.shape[dimension] = count;
  return tape.record(std::move(out), {&x}, [shape = x.shape, dtype = x.dtype](Tape& t, Tensors) {
    Tensor whole = t.empty(shape, dtype);
    t.stream(1.5 * traffic(whole), dtype);
    return only(std::move(whole));
  });
}

Tensor concatenate(Tape& tape, const Tensors& parts, std::size_t dimension) {
  Shape shape = parts.front().shape;
  shape[dimension] = 0;
  std::vector<const Tensor*> inputs;
  std::vector<Shape> shapes;
  for (const Tensor& part : parts) {
    shape[dimension] += part.shape[dimension];
    inputs.push_back(&part);
    shapes.push_back(part.shape);
  }
  Tensor out = tape.empty(shape, parts.front().dtype);
  tape.stream(2 * traffic(out), out.dtype);
  return tape.record(std::move(out), inputs, [shapes](Tape&, Tensors gradients) {
    Tensors views;  // narrow views of the one gradient
    for (const Shape& part : shapes) {
      Tensor view = gradients[0];
      view.shape = part;
      view.order = {kStrided};
      views.push_back(std::move(view));
    }
    return views;
  });
}

Tensor cast(Tape& tape, const Tensor& x, DType dtype) {
  if (x.dtype == dtype) return x;
  Tensor out = tape.empty(x.shape, dtype);
  out.order = x.order;
  tape.stream(traffic(x) + traffic(out), dtype);
  return tape.record(std::move(out), {&x}, [from = x.dtype](Tape& t, Tensors gradients) {
    Tensor wide = t.empty(gradients[0].shape, from);
    wide.order = gradients[0].order;
    t.stream(traffic(gradients[0]) + traffic(wide), from);
    return only(std::move(wide));
  });
}

namespace {

/// `out` has every head of x so often: gradients of each are summed.
Tensor with_summed_gradient(Tape& tape, const Tensor& x, Tensor out) {
  return tape.record(std::move(out), {&x}, [shape = x.shape, dtype = x.dtype](Tape& t, Tensors gradients) {
    Tensor sum = t.empty(shape, dtype);
    t.stream(traffic(gradients[0]) + traffic(sum), dtype);
    return only(std::move(sum));
  });
}

}  // namespace

Tensor repeat_heads(Tape& tape, const Tensor& x, std::int64_t times) {
  if (times == 1) return x;
  Shape shape = x.shape;
  shape[1] *= times;
  Tensor out = tape.empty(std::move(shape), x.dtype);
  tape.stream(traffic(x) + traffic(out), x.dtype);
  return with_summed_gradient(tape, x, std::move(out));
}

Tensor expand_head(Tape& tape, const Tensor& x, std::int64_t times) {
  if (times == 1) return x;
  Tensor out = x.detached();
  out.shape[1] = times;
  return with_summed_gradient(tape, x, std::move(out));
}

}  // namespace plimsoll
