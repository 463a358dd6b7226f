#include <array>
#include <cmath>

#include "executor/kernels/kernels.h"
#include "executor/kernels/storage.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::kernels {
namespace {

constexpr std::int64_t kMostTasks = 256;  // whose partial losses lie on the stack

std::int64_t target_of(const std::int32_t* tokens, const OpShape& s, std::int64_t row) {
  return tokens[row / s.sequence * (s.sequence + 1) + row % s.sequence + 1];
}

/// Sums loss_of_row over fixed ranges of rows, then over the ranges in order, and stores the mean.
template <typename LossOfRow>
void mean_loss(const OpShape& s, Operands operands, WorkerPool& pool, const LossOfRow& loss_of_row) {
  const std::int64_t step = range_count(s.rows, kMostTasks);
  const std::int64_t tasks = range_count(s.rows, step);
  std::array<double, kMostTasks> partial{};
  pool.run(tasks, [&](std::int64_t task, std::int64_t) {
    const Range rows = range_at(task, s.rows, step);
    double sum = 0;
    for (std::int64_t row = rows.begin; row < rows.end; ++row) sum += loss_of_row(row);
    partial[static_cast<std::size_t>(task)] = sum;
  });
  double sum = 0;
  for (std::int64_t task = 0; task < tasks; ++task) sum += partial[static_cast<std::size_t>(task)];
  *array<double>(operands, operands.size() - 1) = sum / static_cast<double>(s.rows);
}

}  // namespace

/// Each row of logits becomes (softmax − one-hot of the target) / terms, times the loss scale where there is one.
template <typename S>
void cross_entropy(const OpShape& s, Operands operands, const LaunchContext& context) {
  using T = Arithmetic<S>;
  S* logits = array<S>(operands, 0);
  const auto* tokens = array<const std::int32_t>(operands, 1);
  const T scale = operands.size() > 3 ? static_cast<T>(array<const LossScale>(operands, 2)->scale) : T(1);
  const T share = scale / static_cast<T>(s.terms);
  const Loops<T>& loop = loops<T>();
  mean_loss(s, operands, *context.pool, [&](std::int64_t row) {
    S* stored = logits + row * s.outputs;
    T* x = opened(s.outputs, stored, row_scratch<S>(s.outputs), true);
    T& target = x[target_of(tokens, s, row)];
    const T most = loop.largest(s.outputs, x);
    const double of_target = static_cast<double>(target) - static_cast<double>(most);
    const T sum = loop.exp_in_place(s.outputs, T(1), most, x);
    loop.scale(s.outputs, share / sum, x);
    target -= share;
    store(s.outputs, x, stored);
    return std::log(static_cast<double>(sum)) - of_target;
  });
}

template <typename S>
void loss(const OpShape& s, Operands operands, const LaunchContext& context) {
  using T = Arithmetic<S>;
  const S* logits = array<S>(operands, 0);
  const auto* tokens = array<const std::int32_t>(operands, 1);
  const Loops<T>& loop = loops<T>();
  mean_loss(s, operands, *context.pool, [&](std::int64_t row) {
    const T* x = widened(s.outputs, logits + row * s.outputs, row_scratch<S>(s.outputs));
    const T most = loop.largest(s.outputs, x);
    const double of_target = static_cast<double>(x[target_of(tokens, s, row)]) - static_cast<double>(most);
    return std::log(static_cast<double>(loop.exp_sum(s.outputs, most, x))) - of_target;
  });
}

PLIMSOLL_INSTANTIATE_HALF_KERNEL(cross_entropy);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(loss);

}  // namespace plimsoll::kernels
