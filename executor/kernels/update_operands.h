#pragma once

#include <array>
#include <cmath>
#include <cstddef>

#include "executor/kernels/kernels.h"
#include "executor/kernels/storage.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::kernels {

/// A gradient of one micro-batch is stored as S, the sum of several in the arithmetic's type; its size tells.
template <typename S>
struct Gradient {
  using T = Arithmetic<S>;
  Gradient(const OperandView& operand, std::int64_t elements)
      : data(operand.data), summed(operand.bytes.count == elements * static_cast<std::int64_t>(sizeof(T))) {}

  [[nodiscard]] const T* sums() const { return reinterpret_cast<const T*>(data); }
  [[nodiscard]] const S* stored() const { return reinterpret_cast<const S*>(data); }
  [[nodiscard]] const T* read(std::int64_t at, std::int64_t n, PieceScratch<S>& scratch) const {
    return summed ? sums() + at : widened(n, stored() + at, scratch.values);
  }

  const std::byte* data;
  bool summed;
};

/// The operands of an update by name (core/graph/op.h). In place, new and old are one; from version to version they are not.
/// The weights that the optimizer keeps are stored as W: fp32 beside two-byte compute weights, which are then published, or
/// all in two bytes.
template <typename S, typename W = Arithmetic<S>>
struct UpdateOperands {
  Gradient<S> gradient;
  const W* weights = nullptr;
  W* new_weights = nullptr;
  S* published = nullptr;  ///< or null
  double factor = 1;       ///< of the gradient, for clipping
  std::array<std::byte*, 2> states{};
  std::array<std::byte*, 2> new_states{};
  std::byte* workspace = nullptr;

  [[nodiscard]] const W* state(std::size_t index) const { return reinterpret_cast<const W*>(states[index]); }
  [[nodiscard]] W* new_state(std::size_t index) const { return reinterpret_cast<W*>(new_states[index]); }
  /// Hands `n` new weights on to what compute reads.
  void publish(std::int64_t at, std::int64_t n, const Arithmetic<S>* moved) const {
    if (published != nullptr) round_into(n, moved, published + at);
  }
};

/// Of a rule with so many states, over so many weights.
template <typename S, typename W = Arithmetic<S>>
UpdateOperands<S, W> update_operands(Operands operands, std::size_t states, std::int64_t elements, bool has_workspace = false) {
  UpdateOperands<S, W> u{.gradient = Gradient<S>(operands[states + 1], elements), .weights = array<W>(operands, 0)};
  const bool in_place = operands[0].access == Access::kReadWrite;
  std::size_t next = states + 2;
  if (next < operands.size() && operands[next].access == Access::kRead) u.factor = *array<const double>(operands, next++);
  const std::size_t first_new = in_place ? 0 : next;
  if (!in_place) next += states + 1;
  u.new_weights = array<W>(operands, first_new);
  for (std::size_t i = 0; i < states; ++i) {
    u.states[i] = operands[1 + i].data;
    u.new_states[i] = operands[first_new + 1 + i].data;
  }
  if (has_workspace) u.workspace = operands.back().data;
  if (next < operands.size() - (has_workspace ? 1 : 0)) u.published = array<S>(operands, next);
  return u;
}

/// How many updates were made before: as many as steps, unless some were skipped.
inline std::int64_t updates_before(const LaunchContext& context) { return context.updates < 0 ? context.step : context.updates; }

/// The numbers of a step, computed in double.
template <typename T>
UpdateStep<T> update_step(const LaunchContext& context, double factor) {
  const Recipe& recipe = *context.recipe;
  const double t = static_cast<double>(updates_before(context) + 1);
  const double rate = learning_rate_at(recipe, context.step);
  return {.beta1 = static_cast<T>(recipe.beta1),
          .beta2 = static_cast<T>(recipe.beta2),
          .step_size = static_cast<T>(rate / (1 - std::pow(recipe.beta1, t))),
          .inverse_root = static_cast<T>(1 / std::sqrt(1 - std::pow(recipe.beta2, t))),
          .epsilon = static_cast<T>(recipe.epsilon),
          .keep = static_cast<T>(1 - rate * recipe.weight_decay),
          .factor = static_cast<T>(factor),
          .rate = static_cast<T>(rate),
          .decay = static_cast<T>(recipe.weight_decay),
          .momentum = static_cast<T>(recipe.momentum),
          .ahead = static_cast<T>(recipe.nesterov ? recipe.momentum : 1),
          .direct = recipe.nesterov ? T(1) : T(0)};
}

/// The same for what does not decay.
template <typename T>
UpdateStep<T> without_decay(UpdateStep<T> step) {
  step.keep = 1;
  step.decay = 0;
  return step;
}

/// Elements of one task of an update, and the least of one that takes sums.
inline constexpr std::int64_t kUpdateElements = std::int64_t{1} << 15;
inline constexpr std::int64_t kSumElements = std::int64_t{1} << 15;

/// Tasks whose partial sums lie on the stack, at most.
inline constexpr std::int64_t kMostSumTasks = 1024;

/// Calls `update(at, n, step)` for pieces (as long as what is stored in two bytes is widened at once) that cover
/// [0, elements), those below `decaying` with the numbers of `step` and the others without decay.
template <typename S, typename Update>
void update_pieces(std::int64_t elements, std::int64_t decaying, const UpdateStep<Arithmetic<S>>& step, WorkerPool& pool,
                   const Update& update) {
  const auto constant = without_decay(step);
  pool.run(range_count(elements, kUpdateElements), [&](std::int64_t task, std::int64_t) {
    const Range r = range_at(task, elements, kUpdateElements);
    const std::int64_t boundary = std::clamp(decaying, r.begin, r.end);
    for_pieces<S>(r.begin, boundary, [&](std::int64_t at, std::int64_t n) { update(at, n, step); });
    for_pieces<S>(boundary, r.end, [&](std::int64_t at, std::int64_t n) { update(at, n, constant); });
  });
}

template <std::size_t N>
using Sums = std::array<double, N>;

/// N sums over [0, total): `sum(range, sums)` adds those of one of at most kMostSumTasks fixed ranges of `least` or more,
/// which are then added in order.
template <std::size_t N, typename Sum>
Sums<N> sum_ranges(std::int64_t total, std::int64_t least, WorkerPool& pool, const Sum& sum) {
  const std::int64_t step = std::max(std::max<std::int64_t>(1, least), range_count(total, kMostSumTasks));
  const std::int64_t tasks = range_count(total, step);
  std::array<Sums<N>, kMostSumTasks> partial;
  pool.run(tasks, [&](std::int64_t task, std::int64_t) {
    partial[static_cast<std::size_t>(task)] = {};
    sum(range_at(task, total, step), partial[static_cast<std::size_t>(task)]);
  });
  Sums<N> sums{};
  for (std::int64_t task = 0; task < tasks; ++task) {
    for (std::size_t i = 0; i < N; ++i) sums[i] += partial[static_cast<std::size_t>(task)][i];
  }
  return sums;
}

/// The sum of squares of [at, at + n), widened by pieces.
template <typename S>
double squares_of(const S* values, std::int64_t begin, std::int64_t end) {
  double sum = 0;
  for_pieces<S>(begin, end, [&](std::int64_t at, std::int64_t n) {
    PieceScratch<S> scratch;
    sum += loops<Arithmetic<S>>().squared_sum(n, widened(n, values + at, scratch.values));
  });
  return sum;
}

template <typename S>
double squares_of(const Gradient<S>& gradient, std::int64_t begin, std::int64_t end) {
  return gradient.summed ? squares_of(gradient.sums(), begin, end) : squares_of(gradient.stored(), begin, end);
}

}  // namespace plimsoll::kernels
