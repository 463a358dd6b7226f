#include "executor/kernels/kernels.h"
#include "executor/kernels/storage.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::kernels {
namespace {

constexpr std::int64_t kColumns = 64;  // of the backward tasks: whole cache lines

/// y = a + b.
template <typename S>
void sum_of(std::int64_t elements, const S* a, const S* b, S* y) {
  for_pieces<S>(0, elements, [&](std::int64_t at, std::int64_t n) {
    PieceScratch<S> of_a, of_b;
    auto* out = opened(n, y + at, of_a.values);
    loops<Arithmetic<S>>().add(n, widened(n, a + at, of_a.values), widened(n, b + at, of_b.values), out);
    store(n, out, y + at);
  });
}

}  // namespace

/// Row 0 of each sequence is the class token, row i the patch before it; all get their position.
template <typename S>
void class_token(const OpShape& s, Operands operands, const LaunchContext& context) {
  const S *x = array<S>(operands, 0), *token = array<S>(operands, 1), *positions = array<S>(operands, 2);
  S* y = array<S>(operands, 3);
  context.pool->run(s.rows / s.sequence, [&](std::int64_t sequence, std::int64_t) {
    const S* patches = x + sequence * (s.sequence - 1) * s.inputs;
    S* out = y + sequence * s.sequence * s.inputs;
    sum_of(s.inputs, token, positions, out);
    sum_of((s.sequence - 1) * s.inputs, patches, positions + s.inputs, out + s.inputs);
  });
}

/// A task owns some columns. A position's gradient is added up over the sequences in their order and rounded once; the class
/// token's is that of its position.
template <typename S>
void class_token_backward(const OpShape& s, Operands operands, const LaunchContext& context) {
  const S* dy = array<S>(operands, 0);
  S *dx = array<S>(operands, 1), *d_token = array<S>(operands, 2), *d_positions = array<S>(operands, 3);
  context.pool->run(range_count(s.inputs, kColumns), [&](std::int64_t task, std::int64_t) {
    const Range columns = range_at(task, s.inputs, kColumns);
    for (std::int64_t place = 0; place < s.sequence; ++place) {
      PieceScratch<S> sum, gradient;
      S* stored = d_positions + place * s.inputs + columns.begin;
      auto* out = opened(columns.size(), stored, sum.values);
      std::fill(out, out + columns.size(), Arithmetic<S>(0));
      for (std::int64_t row = place; row < s.rows; row += s.sequence) {
        const S* of_row = dy + row * s.inputs + columns.begin;
        loops<Arithmetic<S>>().add_to(columns.size(), widened(columns.size(), of_row, gradient.values), out);
        const std::int64_t patch = row - row / s.sequence - 1;
        if (place > 0) std::copy(of_row, of_row + columns.size(), dx + patch * s.inputs + columns.begin);
      }
      store(columns.size(), out, stored);
    }
    std::copy(d_positions + columns.begin, d_positions + columns.end, d_token + columns.begin);
  });
}

PLIMSOLL_INSTANTIATE_HALF_KERNEL(class_token);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(class_token_backward);

}  // namespace plimsoll::kernels
