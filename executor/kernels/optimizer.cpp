#include "executor/kernels/update_operands.h"

// Clipping, and the updates that treat every element alike (docs/optimizers.md). Of a group's elements the first
// `shape.inputs` decay.
namespace plimsoll::kernels {

/// Sums squares over fixed ranges, then over the ranges in order.
template <typename S>
void squared_norm(const OpShape& s, Operands operands, const LaunchContext& context) {
  const Gradient<S> gradient(operands[0], s.rows);
  *array<double>(operands, 1) = sum_ranges<1>(s.rows, kSumElements, *context.pool, [&](Range r, Sums<1>& sums) {
    sums[0] = squares_of(gradient, r.begin, r.end);
  })[0];
}

namespace {

/// One piece by a rule's loop: weights and N states from old to new, published where compute reads others.
template <std::size_t N, typename S, typename W, typename Loop>
void update_piece(const UpdateOperands<S, W>& u, std::int64_t at, std::int64_t n, const UpdateStep<Arithmetic<S>>& step,
                  const Loop& loop) {
  using T = Arithmetic<S>;
  PieceScratch<S> of_gradient;
  PieceScratch<W> of_weights;
  [[maybe_unused]] std::array<PieceScratch<W>, 2> of_states;
  T* moved = opened(n, u.new_weights + at, of_weights.values);
  const T* gradient = u.gradient.read(at, n, of_gradient);
  const T* weights = widened(n, u.weights + at, of_weights.values);
  [[maybe_unused]] std::array<const T*, 2> old{};
  [[maybe_unused]] std::array<T*, 2> fresh{};
  for (std::size_t i = 0; i < N; ++i) {
    fresh[i] = opened(n, u.new_state(i) + at, of_states[i].values);
    old[i] = widened(n, u.state(i) + at, of_states[i].values);
  }
  if constexpr (N == 0) loop(n, step, gradient, weights, moved);
  if constexpr (N == 1) loop(n, step, gradient, weights, old[0], moved, fresh[0]);
  if constexpr (N == 2) loop(n, step, gradient, weights, old[0], old[1], moved, fresh[0], fresh[1]);
  store(n, moved, u.new_weights + at);
  for (std::size_t i = 0; i < N; ++i) store(n, fresh[i], u.new_state(i) + at);
  u.publish(at, n, moved);
}

template <std::size_t N, typename S, typename W, typename Loop>
void update_stored(const OpShape& s, Operands operands, const LaunchContext& context, const Loop& loop) {
  using T = Arithmetic<S>;
  const UpdateOperands<S, W> u = update_operands<S, W>(operands, N, s.rows);
  update_pieces<S>(s.rows, s.inputs, update_step<T>(context, u.factor), *context.pool,
                   [&](std::int64_t at, std::int64_t n, const UpdateStep<T>& step) { update_piece<N>(u, at, n, step, loop); });
}

/// A rule of N states, by its loop, however its weights and states are stored.
template <std::size_t N, typename S, typename Loop>
void update_elements(const OpShape& s, Operands operands, const LaunchContext& context, const Loop& loop) {
  const bool wide = operands[0].bytes.count == s.rows * static_cast<std::int64_t>(sizeof(Arithmetic<S>));
  wide ? update_stored<N, S, Arithmetic<S>>(s, operands, context, loop) : update_stored<N, S, S>(s, operands, context, loop);
}

}  // namespace

template <typename S>
void sgd(const OpShape& shape, Operands operands, const LaunchContext& context) {
  update_elements<0, S>(shape, operands, context, loops<Arithmetic<S>>().sgd);
}

template <typename S>
void momentum(const OpShape& shape, Operands operands, const LaunchContext& context) {
  update_elements<1, S>(shape, operands, context, loops<Arithmetic<S>>().momentum);
}

template <typename S>
void lion(const OpShape& shape, Operands operands, const LaunchContext& context) {
  update_elements<1, S>(shape, operands, context, loops<Arithmetic<S>>().lion);
}

template <typename S>
void adam(const OpShape& shape, Operands operands, const LaunchContext& context) {
  update_elements<2, S>(shape, operands, context, loops<Arithmetic<S>>().adam);
}

template <typename S>
void adamw(const OpShape& shape, Operands operands, const LaunchContext& context) {
  update_elements<2, S>(shape, operands, context, loops<Arithmetic<S>>().adamw);
}

PLIMSOLL_INSTANTIATE_HALF_KERNEL(squared_norm);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(sgd);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(momentum);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(lion);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(adam);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(adamw);

}  // namespace plimsoll::kernels
