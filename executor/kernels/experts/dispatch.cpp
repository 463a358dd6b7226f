#include "executor/kernels/index_check.h"
#include "executor/kernels/experts/routing.h"
#include "executor/kernels/experts/routing_random.h"
#include "executor/kernels/storage.h"
#include "executor/kernels/worker_pool.h"

// Rows of tokens become rows of experts and come back. Each row of either side is written by one task.
namespace plimsoll::kernels {
namespace {

constexpr std::int64_t kRows = 16;  // of the tasks

/// Calls function(token) for all tokens over the workers.
template <typename Function>
void for_tokens(const OpShape& s, WorkerPool& pool, const Function& function) {
  pool.run(range_count(s.rows, kRows), [&](std::int64_t task, std::int64_t) {
    const Range rows = range_at(task, s.rows, kRows);
    for (std::int64_t t = rows.begin; t < rows.end; ++t) function(t);
  });
}

/// Calls function(row) for all rows of experts that hold a token.
template <typename Function>
void for_used(const Routing& routing, WorkerPool& pool, const Function& function) {
  pool.run(range_count(routing.used(), kRows), [&](std::int64_t task, std::int64_t) {
    const Range rows = range_at(task, routing.used(), kRows);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) function(row);
  });
}

/// out = Σ weight(rank) · y[row of the rank]; 0 for a token that no expert took.
template <typename S, typename Weight>
void gather(const OpShape& s, const Routing& routing, std::int64_t t, const S* y, const Weight& weight, S* stored) {
  for_pieces<S>(0, s.inputs, [&](std::int64_t at, std::int64_t n) {
    PieceScratch<S> sum, term;
    auto* out = opened(n, stored + at, sum.values);
    std::fill(out, out + n, Arithmetic<S>(0));
    for (std::int64_t rank = 0; rank < s.choices; ++rank) {
      const std::int32_t row = routing.rows[t * s.choices + rank];
      if (row >= 0) loops<Arithmetic<S>>().scale_add_to(n, weight(rank), widened(n, y + row * s.inputs + at, term.values), out);
    }
    store(n, out, stored + at);
  });
}

/// out = factor · x.
template <typename S>
void scale_row(std::int64_t width, Arithmetic<S> factor, const S* x, S* stored) {
  for_pieces<S>(0, width, [&](std::int64_t at, std::int64_t n) {
    PieceScratch<S> scratch;
    auto* out = opened(n, stored + at, scratch.values);
    widen_into(n, x + at, out);
    loops<Arithmetic<S>>().scale(n, factor, out);
    store(n, out, stored + at);
  });
}

template <typename S>
Arithmetic<S> dot_of_rows(std::int64_t width, const S* a, const S* b) {
  Arithmetic<S> sum = 0;
  for_pieces<S>(0, width, [&](std::int64_t at, std::int64_t n) {
    PieceScratch<S> of_a, of_b;
    sum += loops<Arithmetic<S>>().dot(n, widened(n, a + at, of_a.values), widened(n, b + at, of_b.values));
  });
  return sum;
}

}  // namespace

template <typename S>
void dispatch(const OpShape& s, Operands operands, const LaunchContext& context) {
  const S* x = array<S>(operands, 0);
  const Routing routing(s, array<std::int32_t>(operands, 1));
  check_routing(s, routing);
  S* y = array<S>(operands, 2);
  for_used(routing, *context.pool, [&](std::int64_t row) {
    const S* token = x + routing.sources[row] / s.choices * s.inputs;
    std::copy(token, token + s.inputs, y + row * s.inputs);
  });
  clear_unused(routing, s.inputs, y, *context.pool);
}

template <typename S>
void dispatch_backward(const OpShape& s, Operands operands, const LaunchContext& context) {
  const S* dy = array<S>(operands, 0);
  const Routing routing(s, array<std::int32_t>(operands, 1));
  check_routing(s, routing);
  S* dx = array<S>(operands, 2);
  for_tokens(s, *context.pool, [&](std::int64_t t) {
    gather(s, routing, t, dy, [](std::int64_t) { return Arithmetic<S>(1); }, dx + t * s.inputs);
  });
}

template <typename S>
void combine(const OpShape& s, Operands operands, const LaunchContext& context) {
  const S* y = array<S>(operands, 0);
  const auto* gates = array<Arithmetic<S>>(operands, 1);
  const Routing routing(s, array<std::int32_t>(operands, 2));
  check_routing(s, routing);
  S* out = array<S>(operands, 3);
  for_tokens(s, *context.pool, [&](std::int64_t t) {
    gather(s, routing, t, y, [&](std::int64_t rank) { return gates[t * s.choices + rank]; }, out + t * s.inputs);
  });
}

template <typename S>
void combine_backward(const OpShape& s, Operands operands, const LaunchContext& context) {
  const S *d_out = array<S>(operands, 0), *y = array<S>(operands, 1);
  const auto* gates = array<Arithmetic<S>>(operands, 2);
  const Routing routing(s, array<std::int32_t>(operands, 3));
  check_routing(s, routing);
  S* dy = array<S>(operands, 4);
  auto* d_gates = array<Arithmetic<S>>(operands, 5);
  for_tokens(s, *context.pool, [&](std::int64_t t) {
    const S* gradient = d_out + t * s.inputs;
    for (std::int64_t at = t * s.choices; at < (t + 1) * s.choices; ++at) {
      const std::int32_t row = routing.rows[at];
      d_gates[at] = row < 0 ? Arithmetic<S>(0) : dot_of_rows(s.inputs, gradient, y + row * s.inputs);
      if (row >= 0) scale_row(s.inputs, gates[at], gradient, dy + row * s.inputs);
    }
  });
  clear_unused(routing, s.inputs, dy, *context.pool);
}

/// Sets a share of the elements to 0 and enlarges the others so that their mean stays (Srivastava et al. 2014). Its own
/// backward pass: the numbers are drawn again.
template <typename S>
void expert_dropout(const OpShape& s, Operands operands, const LaunchContext& context) {
  using T = Arithmetic<S>;
  S* x = array<S>(operands, 0);
  const Routing routing(s, array<std::int32_t>(operands, 1));
  check_routing(s, routing);
  const std::uint64_t key = draw_key(context, Draw::kDropout);
  const double share = context.experts->dropout;
  const T kept = static_cast<T>(1 / (1 - share));
  for_used(routing, *context.pool, [&](std::int64_t row) {
    for_pieces<S>(row * s.inputs, (row + 1) * s.inputs, [&](std::int64_t at, std::int64_t n) {
      PieceScratch<S> scratch;
      T* out = opened(n, x + at, scratch.values, true);
      for (std::int64_t i = 0; i < n; ++i) {
        out[i] *= to_unit(random_at(key, static_cast<std::uint64_t>(at + i))) < share ? T(0) : kept;
      }
      store(n, out, x + at);
    });
  });
}

PLIMSOLL_INSTANTIATE_HALF_KERNEL(dispatch);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(dispatch_backward);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(combine);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(combine_backward);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(expert_dropout);

}  // namespace plimsoll::kernels
