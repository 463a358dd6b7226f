#include <array>
#include <cmath>

#include "executor/kernels/kernels.h"
#include "executor/kernels/loops.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::kernels {
namespace {

constexpr std::int64_t kMostTasks = 1024;                  // whose partial sums lie on the stack
constexpr std::int64_t kElements = std::int64_t{1} << 15;  // the least of one task
constexpr std::int64_t kUpdateElements = std::int64_t{1} << 16;

/// Bias corrections and the learning rate of the step, computed in double.
template <typename T>
AdamWStep<T> numbers_of(const Recipe& recipe, std::int64_t step, double factor) {
  const double t = static_cast<double>(step + 1);
  const double rate = learning_rate_at(recipe, step);
  return {.beta1 = static_cast<T>(recipe.beta1),
          .beta2 = static_cast<T>(recipe.beta2),
          .step_size = static_cast<T>(rate / (1 - std::pow(recipe.beta1, t))),
          .inverse_root = static_cast<T>(1 / std::sqrt(1 - std::pow(recipe.beta2, t))),
          .epsilon = static_cast<T>(recipe.epsilon),
          .keep = static_cast<T>(1 - rate * recipe.weight_decay),
          .factor = static_cast<T>(factor)};
}

}  // namespace

/// Sums squares over at most kMostTasks fixed ranges, then over the ranges in order.
template <typename T>
void squared_norm(const OpShape& s, Operands operands, const LaunchContext& context) {
  const T* gradient = array<T>(operands, 0);
  const std::int64_t step = std::max(kElements, range_count(s.rows, kMostTasks));
  const std::int64_t tasks = range_count(s.rows, step);
  std::array<double, kMostTasks> partial{};
  context.pool->run(tasks, [&](std::int64_t task, std::int64_t) {
    const Range r = range_at(task, s.rows, step);
    partial[static_cast<std::size_t>(task)] = loops<T>().squared_sum(r.size(), gradient + r.begin);
  });
  double sum = 0;
  for (std::int64_t task = 0; task < tasks; ++task) sum += partial[static_cast<std::size_t>(task)];
  *array<double>(operands, 1) = sum;
}

/// factor = clip / max(norm, clip); 1 without clipping. The flag, where there is one, says whether it is not 1.
void clip_factor(const OpShape& s, Operands operands, const LaunchContext& context) {
  const double* partial = array<const double>(operands, 0);
  double* result = array<double>(operands, 1);
  double sum = 0;
  for (std::int64_t i = 0; i < s.terms; ++i) sum += partial[i];
  const double clip = context.recipe->clip;
  const double norm = std::sqrt(sum);
  result[0] = clip > 0 ? clip / std::max(norm, clip) : 1;
  result[1] = norm;
  if (operands.size() > 2) *array<double>(operands, 2) = result[0] == 1 ? 0 : 1;
}

/// AdamW with decoupled decay (Loshchilov and Hutter 2019, algorithm 2): the first `shape.inputs` elements decay. In place,
/// or from one version of the states to the next; the arithmetic is the same, since each element is read before it is
/// written.
template <typename T>
void adamw(const OpShape& s, Operands operands, const LaunchContext& context) {
  const bool in_place = operands[0].access == Access::kReadWrite;
  const bool clips = operands.size() > 4 && operands[4].access == Access::kRead;
  const std::size_t next = in_place ? 0 : clips ? 5 : 4;  // of the new weights
  const T *weights = array<T>(operands, 0), *m = array<T>(operands, 1), *v = array<T>(operands, 2);
  T *new_weights = array<T>(operands, next), *new_m = array<T>(operands, next + 1), *new_v = array<T>(operands, next + 2);
  const T* gradient = array<T>(operands, 3);
  const double factor = clips ? *array<const double>(operands, 4) : 1;
  const AdamWStep<T> decaying = numbers_of<T>(*context.recipe, context.step, factor);
  AdamWStep<T> constant = decaying;
  constant.keep = 1;
  const auto update = [&](Range r, const AdamWStep<T>& step) {
    loops<T>().adamw(r.size(), step, gradient + r.begin, weights + r.begin, m + r.begin, v + r.begin, new_weights + r.begin,
                     new_m + r.begin, new_v + r.begin);
  };
  context.pool->run(range_count(s.rows, kUpdateElements), [&](std::int64_t task, std::int64_t) {
    const Range r = range_at(task, s.rows, kUpdateElements);
    const std::int64_t boundary = std::clamp(s.inputs, r.begin, r.end);
    update({r.begin, boundary}, decaying);
    update({boundary, r.end}, constant);
  });
}

PLIMSOLL_INSTANTIATE_KERNEL(squared_norm);
PLIMSOLL_INSTANTIATE_KERNEL(adamw);

}  // namespace plimsoll::kernels
