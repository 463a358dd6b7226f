#include "executor/kernels/elementwise_update.h"

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

/// A rule of N states, by its loop.
template <std::size_t N, typename S, typename Loop>
void update_by(const OpShape& s, Operands operands, const LaunchContext& context, const Loop& loop) {
  const double factor = update_operands<S>(operands, N, s.rows).factor;
  update_elements<N, S>(s, operands, update_step<Arithmetic<S>>(context, factor), *context.pool, loop);
}

}  // namespace

template <typename S>
void sgd(const OpShape& shape, Operands operands, const LaunchContext& context) {
  update_by<0, S>(shape, operands, context, loops<Arithmetic<S>>().sgd);
}

template <typename S>
void momentum(const OpShape& shape, Operands operands, const LaunchContext& context) {
  update_by<1, S>(shape, operands, context, loops<Arithmetic<S>>().momentum);
}

template <typename S>
void lion(const OpShape& shape, Operands operands, const LaunchContext& context) {
  update_by<1, S>(shape, operands, context, loops<Arithmetic<S>>().lion);
}

template <typename S>
void adam(const OpShape& shape, Operands operands, const LaunchContext& context) {
  update_by<2, S>(shape, operands, context, loops<Arithmetic<S>>().adam);
}

template <typename S>
void adamw(const OpShape& shape, Operands operands, const LaunchContext& context) {
  update_by<2, S>(shape, operands, context, loops<Arithmetic<S>>().adamw);
}

PLIMSOLL_INSTANTIATE_HALF_KERNEL(squared_norm);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(sgd);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(momentum);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(lion);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(adam);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(adamw);

}  // namespace plimsoll::kernels
