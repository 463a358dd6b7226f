#include <array>
#include <cmath>

#include "executor/kernels/index_check.h"
#include "executor/kernels/kernels.h"
#include "executor/kernels/storage.h"
#include "executor/kernels/targets.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::kernels {
namespace {

constexpr std::int64_t kMostTasks = 256;  // whose partial losses lie on the stack

/// Σ of_row over fixed ranges of rows, then over the ranges in order.
template <typename OfRow>
double sum_of_rows(const OpShape& s, WorkerPool& pool, const OfRow& of_row) {
  const std::int64_t step = range_count(s.rows, kMostTasks);
  const std::int64_t tasks = range_count(s.rows, step);
  std::array<double, kMostTasks> partial{};
  pool.run(tasks, [&](std::int64_t task, std::int64_t) {
    const Range rows = range_at(task, s.rows, step);
    double sum = 0;
    for (std::int64_t row = rows.begin; row < rows.end; ++row) sum += of_row(row);
    partial[static_cast<std::size_t>(task)] = sum;
  });
  double sum = 0;
  for (std::int64_t task = 0; task < tasks; ++task) sum += partial[static_cast<std::size_t>(task)];
  return sum;
}

/// From row to row of logits, which may be wider than the vocabulary.
std::int64_t stride_of(const OpShape& s) { return s.stride > 0 ? s.stride : s.outputs; }

/// Rows of the micro-batch, of which these may be a part.
std::int64_t whole_rows(const OpShape& s) { return s.inputs > 0 ? s.inputs : s.rows; }

/// The first part of a micro-batch overwrites what stands there, the others add to it.
void put_or_add(const OperandView& operand, double value) {
  auto* to = reinterpret_cast<double*>(operand.data);
  *to = operand.access == Access::kReadWrite ? *to + value : value;
}

/// What a micro-batch's losses are divided by. Of tokens that do not all count it is such that the mean over the micro-batches
/// of a step is the mean over the targets that count in the step.
double divisor_of(const OpShape& s, const Targets& targets, const LaunchContext& context) {
  if (targets.labels) return static_cast<double>(targets.count(s.rows));
  if (!context.targets) return static_cast<double>(whole_rows(s));
  const double micro_batches = static_cast<double>(s.terms) / static_cast<double>(whole_rows(s));
  return static_cast<double>(std::max<std::int64_t>(1, *context.targets)) / micro_batches;
}

/// What the gradient's rows are divided by: targets of the step, or their like.
std::int64_t terms_of(const OpShape& s, const Targets& targets, const LaunchContext& context) {
  if (!targets.labels) return std::max<std::int64_t>(1, context.targets.value_or(s.terms));
  return targets.count(s.rows) * std::max<std::int64_t>(1, s.terms / s.rows);
}

}  // namespace

/// Each row of logits becomes (softmax − one-hot of the target) / terms, where all rows count. Where only some do, they share
/// alike in what all would have, and the others become 0, as do columns beyond the vocabulary. All times the loss scale where there
/// is one.
template <typename S>
void cross_entropy(const OpShape& s, Operands operands, const LaunchContext& context) {
  using T = Arithmetic<S>;
  S* logits = array<S>(operands, 0);
  check_targets(s, array<const std::int32_t>(operands, 1));
  const Targets targets(s, array<const std::int32_t>(operands, 1));
  const T scale = operands.size() > 3 ? static_cast<T>(array<const LossScale>(operands, 2)->scale) : T(1);
  const T share = scale / static_cast<T>(terms_of(s, targets, context));
  const Loops<T>& loop = loops<T>();
  const double sum_of_losses = sum_of_rows(s, *context.pool, [&](std::int64_t row) {
    S* stored = logits + row * stride_of(s);
    std::fill(stored + s.outputs, stored + stride_of(s), S{});
    if (targets.of(row) < 0) {
      std::fill(stored, stored + s.outputs, S{});
      return 0.0;
    }
    T* x = opened(s.outputs, stored, row_scratch<S>(s.outputs), true);
    T& target = x[targets.of(row)];
    const T most = loop.largest(s.outputs, x);
    const double of_target = static_cast<double>(target) - static_cast<double>(most);
    const T sum = loop.exp_in_place(s.outputs, T(1), most, x);
    loop.scale(s.outputs, share / sum, x);
    target -= share;
    store(s.outputs, x, stored);
    return std::log(static_cast<double>(sum)) - of_target;
  });
  put_or_add(operands.back(), sum_of_losses / divisor_of(s, targets, context));
}

template <typename S>
void loss(const OpShape& s, Operands operands, const LaunchContext& context) {
  using T = Arithmetic<S>;
  const S* logits = array<S>(operands, 0);
  check_targets(s, array<const std::int32_t>(operands, 1));
  const Targets targets(s, array<const std::int32_t>(operands, 1));
  const double divisor = divisor_of(s, targets, context);
  const Loops<T>& loop = loops<T>();
  const double sum = sum_of_rows(s, *context.pool, [&](std::int64_t row) {
    if (targets.of(row) < 0) return 0.0;
    const T* x = widened(s.outputs, logits + row * stride_of(s), row_scratch<S>(s.outputs));
    const T most = loop.largest(s.outputs, x);
    const double of_target = static_cast<double>(x[targets.of(row)]) - static_cast<double>(most);
    return std::log(static_cast<double>(loop.exp_sum(s.outputs, most, x))) - of_target;
  });
  put_or_add(operands[2], sum / divisor);
  if (operands.size() < 4) return;
  const double right = sum_of_rows(s, *context.pool, [&](std::int64_t row) {
    if (targets.of(row) < 0) return 0.0;
    const T* x = widened(s.outputs, logits + row * stride_of(s), row_scratch<S>(s.outputs));
    return std::max_element(x, x + s.outputs) - x == targets.of(row) ? 1.0 : 0.0;
  });
  *array<double>(operands, 3) = right / divisor;
}

PLIMSOLL_INSTANTIATE_HALF_KERNEL(cross_entropy);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(loss);

}  // namespace plimsoll::kernels
