#include "sim/stack/operators/sparsemax.h"

#include <utility>

#include "sim/stack/tape/operations.h"

namespace plimsoll {
namespace {

Tensor like(Tape& tape, const Tensor& x) { return tape.empty(x.shape, x.dtype); }

/// Longest row that torch.sort orders where its result lies.
constexpr std::int64_t kSortedInPlace = 4096;

/// Values and indices. Longer rows: the indices before sorting, and the radix sort's second buffers of keys and
/// indices.
std::pair<Tensor, Tensor> sort(Tape& tape, const Tensor& x) {
  Tensor values = like(tape, x);
  const Tensor indices = tape.empty(x.shape, kIndexType);
  if (x.size(-1) > kSortedInPlace) {
    const Tensor before = tape.empty(x.shape, kIndexType);
    const Tensor keys = like(tape, x);
    const Tensor other = tape.empty(x.shape, kIndexType);
  }
  values = tape.record(std::move(values), {&x}, [indices, shape = x.shape, dtype = x.dtype](Tape& t, Tensors) {
    return only(t.empty(shape, dtype));  // zeros, into which the gradient is scattered
  });
  return {values, indices};
}

/// Backward turns the rows round, sums, and turns them back.
Tensor cumulated(Tape& tape, const Tensor& x) {
  return tape.record(like(tape, x), {&x}, [](Tape& t, Tensors gradients) {
    Tensor turned = like(t, gradients[0]);
    const Tensor summed = like(t, turned);
    return only(like(t, summed));
  });
}

/// One value of each row, at places that are kept.
Tensor picked(Tape& tape, const Tensor& x, const Tensor& places) {
  return tape.record(
      tape.empty(places.shape, x.dtype), {&x},
      [places, whole = x.shape, dtype = x.dtype](Tape& t, Tensors) { return only(t.empty(whole, dtype)); });
}

Tensor minus_threshold(Tape& tape, const Tensor& x, const Tensor& threshold) {
  return tape.record(like(tape, x), {&x, &threshold}, [](Tape& t, Tensors gradients) {
    const Tensor negated = like(t, gradients[0]);
    Shape row = negated.shape;
    row.back() = 1;
    return Tensors{gradients[0], t.empty(row, negated.dtype)};
  });
}

/// Keeps its input; backward compares it with zero first.
Tensor above_zero(Tape& tape, const Tensor& x) {
  return tape.record(like(tape, x), {&x}, [saved = x.detached()](Tape& t, Tensors) {
    const Tensor where = t.empty(saved.shape, kMaskType);
    return only(like(t, saved));
  });
}

}  // namespace

Tensor sparsemax(Tape& tape, const Tensor& x) {
  const auto [sorted, indices] = sort(tape, x);
  const Tensor sums = cumulated(tape, sorted);
  const Tensor ranks = tape.empty({x.size(-1)}, x.dtype);
  const Tensor bound = shift(tape, scale(tape, sorted.detached()));
  const Tensor support = tape.empty(x.shape, kMaskType);
  Shape row = x.shape;
  row.back() = 1;
  const Tensor sizes = tape.empty(row, kIndexType);
  const Tensor threshold = scale(tape, picked(tape, sums, tape.empty(row, kIndexType)));
  const Tensor difference = minus_threshold(tape, x, threshold);
  return above_zero(tape, difference);
}

}  // namespace plimsoll
