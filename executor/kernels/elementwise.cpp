#include "core/model/model_spec.h"
#include "executor/kernels/kernels.h"
#include "executor/kernels/storage.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::kernels {
namespace {

constexpr std::int64_t kElements = std::int64_t{1} << 15;  // of one task: its operands fit a second-level cache
constexpr std::int64_t kRows = 8;                          // of one task of a gated activation

/// Calls function(begin, size) for fixed pieces of [0, elements) over the workers.
template <typename S, typename Function>
void for_elements(WorkerPool& pool, std::int64_t elements, const Function& function) {
  pool.run(range_count(elements, kElements), [&](std::int64_t task, std::int64_t) {
    const Range range = range_at(task, elements, kElements);
    for_pieces<S>(range.begin, range.end, function);
  });
}

ActivationKind kind_of(const OpShape& shape) { return static_cast<ActivationKind>(shape.variant); }

template <typename T>
auto plain_activation(ActivationKind kind) {
  const Loops<T>& loop = loops<T>();
  switch (kind) {
    case ActivationKind::kGelu: return loop.gelu;
    case ActivationKind::kTanh: return loop.tanh;
    case ActivationKind::kRelu: return loop.relu;
    case ActivationKind::kSquaredRelu: return loop.squared_relu;
    default: return loop.gelu_tanh;
  }
}

template <typename T>
auto plain_activation_backward(ActivationKind kind) {
  const Loops<T>& loop = loops<T>();
  switch (kind) {
    case ActivationKind::kGelu: return loop.gelu_backward;
    case ActivationKind::kTanh: return loop.tanh_backward;
    case ActivationKind::kRelu: return loop.relu_backward;
    case ActivationKind::kSquaredRelu: return loop.squared_relu_backward;
    default: return loop.gelu_tanh_backward;
  }
}

}  // namespace

template <typename S>
void add(const OpShape& s, Operands operands, const LaunchContext& context) {
  const S *a = array<S>(operands, 0), *b = array<S>(operands, 1);
  S* y = array<S>(operands, 2);
  for_elements<S>(*context.pool, s.rows * s.inputs, [&](std::int64_t at, std::int64_t n) {
    PieceScratch<S> of_a, of_b;
    auto* sum = opened(n, y + at, of_a.values);
    loops<Arithmetic<S>>().add(n, widened(n, a + at, of_a.values), widened(n, b + at, of_b.values), sum);
    store(n, sum, y + at);
  });
}

/// The sum is of the arithmetic's type: micro-batches are not rounded to two bytes each.
template <typename S>
void accumulate(const OpShape& s, Operands operands, const LaunchContext& context) {
  const S* gradient = array<S>(operands, 0);
  auto* sum = array<Arithmetic<S>>(operands, 1);
  const bool starts = operands[1].access == Access::kWrite;
  for_elements<S>(*context.pool, s.rows, [&](std::int64_t at, std::int64_t n) {
    if (starts) return widen_into(n, gradient + at, sum + at);
    PieceScratch<S> scratch;
    loops<Arithmetic<S>>().add_to(n, widened(n, gradient + at, scratch.values), sum + at);
  });
}

namespace {

/// y = apply(x), element by element.
template <typename S, typename Apply>
void map(const OpShape& s, const S* x, S* y, const Apply& apply, WorkerPool& pool) {
  for_elements<S>(pool, s.rows * s.outputs, [&](std::int64_t at, std::int64_t n) {
    PieceScratch<S> scratch;
    auto* out = opened(n, y + at, scratch.values);
    apply(n, widened(n, x + at, scratch.values), out);
    store(n, out, y + at);
  });
}

/// dx = apply(x, dy), element by element.
template <typename S, typename Apply>
void map_backward(const OpShape& s, const S* x, const S* dy, S* dx, const Apply& apply, WorkerPool& pool) {
  for_elements<S>(pool, s.rows * s.outputs, [&](std::int64_t at, std::int64_t n) {
    PieceScratch<S> of_x, of_dy;
    auto* out = opened(n, dx + at, of_dy.values);
    apply(n, widened(n, x + at, of_x.values), widened(n, dy + at, of_dy.values), out);
    store(n, out, dx + at);
  });
}

/// A row of `n` gates and `n` values as a loop wants them, one behind the other: a piece of each, or the row as it is.
template <typename S>
struct GatedScratch {
  Arithmetic<S> both[kIsHalf<S> ? 2 * kPiece : 1];

  const Arithmetic<S>* read(std::int64_t width, std::int64_t at, std::int64_t n, const S* row) {
    if constexpr (!kIsHalf<S>) return row;
    widen_into(n, row + at, both);
    widen_into(n, row + width + at, both + n);
    return both;
  }
};

template <typename Function>
void for_rows(const OpShape& s, WorkerPool& pool, const Function& function) {
  pool.run(range_count(s.rows, kRows), [&](std::int64_t task, std::int64_t) {
    const Range rows = range_at(task, s.rows, kRows);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) function(row);
  });
}

template <typename S, typename Apply>
void gate(const OpShape& s, const S* x, S* y, const Apply& apply, WorkerPool& pool) {
  const std::int64_t width = s.outputs;
  for_rows(s, pool, [&](std::int64_t row) {
    for_pieces<S>(0, width, [&](std::int64_t at, std::int64_t n) {
      GatedScratch<S> gated;
      PieceScratch<S> scratch;
      auto* out = opened(n, y + row * width + at, scratch.values);
      apply(n, gated.read(width, at, n, x + row * 2 * width), out);
      store(n, out, y + row * width + at);
    });
  });
}

template <typename S, typename Apply>
void gate_backward(const OpShape& s, const S* x, const S* dy, S* dx, const Apply& apply, WorkerPool& pool) {
  const std::int64_t width = s.outputs;
  for_rows(s, pool, [&](std::int64_t row) {
    for_pieces<S>(0, width, [&](std::int64_t at, std::int64_t n) {
      GatedScratch<S> gated, result;
      PieceScratch<S> scratch;
      S* to = dx + row * 2 * width;
      auto* out = opened(n, to, result.both);
      apply(n, gated.read(width, at, n, x + row * 2 * width), widened(n, dy + row * width + at, scratch.values), out);
      store(n, out, to + at);
      store(n, out + n, to + width + at);
    });
  });
}

}  // namespace

template <typename S>
void activation(const OpShape& s, Operands operands, const LaunchContext& context) {
  const S* x = array<S>(operands, 0);
  S* y = array<S>(operands, 1);
  const Loops<Arithmetic<S>>& loop = loops<Arithmetic<S>>();
  if (is_gated(kind_of(s))) {
    return gate(s, x, y, kind_of(s) == ActivationKind::kSwiGlu ? loop.swiglu : loop.geglu_tanh, *context.pool);
  }
  map(s, x, y, plain_activation<Arithmetic<S>>(kind_of(s)), *context.pool);
}

template <typename S>
void activation_backward(const OpShape& s, Operands operands, const LaunchContext& context) {
  const S *x = array<S>(operands, 0), *dy = array<S>(operands, 1);
  S* dx = array<S>(operands, 2);
  const Loops<Arithmetic<S>>& loop = loops<Arithmetic<S>>();
  if (is_gated(kind_of(s))) {
    const auto apply = kind_of(s) == ActivationKind::kSwiGlu ? loop.swiglu_backward : loop.geglu_tanh_backward;
    return gate_backward(s, x, dy, dx, apply, *context.pool);
  }
  map_backward(s, x, dy, dx, plain_activation_backward<Arithmetic<S>>(kind_of(s)), *context.pool);
}

PLIMSOLL_INSTANTIATE_HALF_KERNEL(add);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(accumulate);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(activation);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(activation_backward);

}  // namespace plimsoll::kernels
