#include "sim/stack/operators/fused_linear_loss.h"

#include <algorithm>
#include <bit>

#include "sim/stack/tape/operations.h"

namespace plimsoll {
namespace {

/// What all chunks share.
struct LinearLoss {
  Tensor x;
  Tensor weight;
  Tensor dx;
  Tensor dweight;  ///< nothing where the head is frozen
  DType narrow = DType::kFp32;  ///< of the products
  bool adds_products = false;

  [[nodiscard]] bool casts() const { return x.dtype != narrow || weight.dtype != narrow; }
};

/// For the moment of one product; nothing where it has that type already.
Tensor cast_for_product(Tape& tape, const Shape& shape, DType from, DType to) {
  if (from == to) return {};
  Tensor made = tape.empty(shape, to);
  tape.stream(traffic(made) + static_cast<double>(made.elements() * size_of(from)), to);
  return made;
}

/// The chunk's logits into `logits`, or into memory of their own.
Tensor chunk_logits(Tape& tape, const LinearLoss& loss, std::int64_t rows, const Tensor& logits) {
  const std::int64_t vocabulary = loss.weight.shape[0], hidden = loss.weight.shape[1];
  const Tensor input = cast_for_product(tape, {rows, hidden}, loss.x.dtype, loss.narrow);
  const Tensor turned = cast_for_product(tape, loss.weight.shape, loss.weight.dtype, loss.narrow);
  Tensor made = logits ? logits : tape.empty({rows, vocabulary}, loss.narrow);
  tape.product(1, rows, vocabulary, hidden, loss.narrow);
  const double read_twice_and_written = 3.0 * static_cast<double>(rows * vocabulary * size_of(loss.narrow));
  tape.stream(read_twice_and_written, loss.narrow);
  return made;
}

void add_input_gradient(Tape& tape, const LinearLoss& loss, std::int64_t rows) {
  const std::int64_t vocabulary = loss.weight.shape[0], hidden = loss.weight.shape[1];
  if (!loss.casts()) return tape.product(1, rows, hidden, vocabulary, loss.narrow);
  // A trained head's cast stays in the autocast region's cache.
  const Tensor cached = loss.weight.needs_gradient() ? tape.as_autocast(loss.weight) : Tensor{};
  const Tensor once = cached ? Tensor{} : cast_for_product(tape, loss.weight.shape, loss.weight.dtype, loss.narrow);
  const Tensor made = tape.empty({rows, hidden}, loss.narrow);
  tape.product(1, rows, hidden, vocabulary, loss.narrow);
  tape.stream(traffic(made) + static_cast<double>(rows * hidden * size_of(loss.dx.dtype)), loss.dx.dtype);
}

void add_weight_gradient(Tape& tape, const LinearLoss& loss, std::int64_t rows) {
  const std::int64_t vocabulary = loss.weight.shape[0], hidden = loss.weight.shape[1];
  Tensor input = cast_for_product(tape, {rows, hidden}, loss.x.dtype, loss.narrow);
  if (loss.adds_products && size_of(loss.narrow) == 2) {
    tape.turned_product(1, vocabulary, hidden, rows, loss.narrow);
    return tape.stream(traffic(loss.dweight), loss.dweight.dtype);  // what the product is added to is read
  }
  Tensor product = tape.empty(loss.weight.shape, loss.narrow);
  tape.turned_product(1, vocabulary, hidden, rows, loss.narrow);
  input = {};
  const Tensor wide = cast_for_product(tape, loss.weight.shape, loss.narrow, DType::kFp32);
  if (wide) product = {};
  tape.stream(traffic(wide ? wide : product) + 2 * traffic(loss.dweight), loss.dweight.dtype);
}

}  // namespace

std::int64_t loss_chunk_rows(std::int64_t rows, std::int64_t vocabulary, std::int64_t hidden) {
  const std::int64_t parts = (vocabulary + hidden - 1) / hidden;
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>((rows + parts - 1) / parts)));
}

Tensor fused_linear_cross_entropy(Tape& tape, const Tensor& x, Parameter& head, bool adds_products) {
  const Tensor weight = head.use();
  const std::int64_t rows = x.elements() / x.size(-1);
  const std::int64_t chunk = std::min(rows, loss_chunk_rows(rows, weight.shape[0], weight.shape[1]));
  LinearLoss loss{.x = x, .weight = weight, .dx = tape.empty(x.shape, x.dtype), .dweight = {},
                  .narrow = tape.autocast().value_or(x.dtype), .adds_products = adds_products};
  if (weight.needs_gradient()) loss.dweight = tape.empty(weight.shape, weight.dtype);
  tape.stream(traffic(loss.dx) + (loss.dweight ? traffic(loss.dweight) : 0), x.dtype);  // zeros
  const Tensor losses = tape.empty({rows}, DType::kFp32);
  tape.without_grad([&] {
    const Tensor kept = loss.casts() ? Tensor{} : tape.empty({chunk, weight.shape[0]}, loss.narrow);
    for (std::int64_t first = 0; first < rows; first += chunk) {
      const std::int64_t here = std::min(chunk, rows - first);
      const Tensor logits = chunk_logits(tape, loss, here, kept);
      add_input_gradient(tape, loss, here);
      if (loss.dweight) add_weight_gradient(tape, loss, here);
    }
  });
  return tape.record(tape.empty({1}, DType::kFp32), {&x, &weight}, [dx = loss.dx, dweight = loss.dweight](Tape& t, Tensors) {
    for (const Tensor& gradient : {dx, dweight}) {
      if (gradient) t.stream(2 * traffic(gradient), gradient.dtype);
    }
    return Tensors{dx, dweight};
  });
}

std::int64_t recomputed_chunk_rows(std::int64_t rows, std::int64_t vocabulary) {
  constexpr std::int64_t kChunkBytes = std::int64_t{2} << 30, kLogitBytes = 8, kLeast = 512, kParts = 8;
  const std::int64_t fitting = kChunkBytes / (kLogitBytes * vocabulary);
  return std::max<std::int64_t>(2, std::min({rows, fitting, std::max(kLeast, (rows + kParts - 1) / kParts)}));
}

Tensor recomputed_linear_cross_entropy(Tape& tape, const Tensor& input, Parameter& head) {
  const Tensor x = tape.as_autocast(input);
  const std::int64_t rows = x.elements() / x.size(-1), vocabulary = head.value.shape[0], hidden = head.value.shape[1];
  const std::int64_t chunk = recomputed_chunk_rows(rows, vocabulary);
  const Tensor sums = tape.empty({2, rows}, DType::kFp32);
  for (std::int64_t first = 0; first < rows; first += chunk) {
    const Tensor logits = tape.empty({std::min(chunk, rows - first), vocabulary}, x.dtype);
    tape.product(1, logits.shape[0], vocabulary, hidden, x.dtype);
    tape.stream(traffic(logits), x.dtype);
  }
  return tape.record(tape.empty({1}, DType::kFp32), {&x}, [=, saved = x.detached()](Tape& t, Tensors) {
    const std::int64_t kept_rows = sums.shape[1];
    Tensor dx = t.empty(saved.shape, saved.dtype);
    for (std::int64_t first = 0; first < kept_rows; first += chunk) {
      const std::int64_t here = std::min(chunk, kept_rows - first);
      const Tensor logits = t.empty({here, vocabulary}, saved.dtype);
      t.again(true);
      t.product(1, here, vocabulary, hidden, saved.dtype);
      t.again(false);
      const Tensor gradient = t.empty({here, vocabulary}, saved.dtype);
      t.stream(2 * traffic(logits), saved.dtype);
      t.product(1, here, hidden, vocabulary, saved.dtype);
    }
    return only(std::move(dx));
  });
}

}  // namespace plimsoll
