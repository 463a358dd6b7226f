#include <array>
#include <cmath>

#include "executor/kernels/kernels.h"
#include "executor/kernels/storage.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::kernels {
namespace {

constexpr std::int64_t kMostTasks = 1024;                  // whose partial sums lie on the stack
constexpr std::int64_t kElements = std::int64_t{1} << 15;  // the least of one task
constexpr std::int64_t kUpdateElements = std::int64_t{1} << 16;

/// Bias corrections and the learning rate of the step, computed in double.
template <typename T>
AdamWStep<T> numbers_of(const LaunchContext& context, double factor) {
  const Recipe& recipe = *context.recipe;
  const double t = static_cast<double>((context.updates < 0 ? context.step : context.updates) + 1);
  const double rate = learning_rate_at(recipe, context.step);
  return {.beta1 = static_cast<T>(recipe.beta1),
          .beta2 = static_cast<T>(recipe.beta2),
          .step_size = static_cast<T>(rate / (1 - std::pow(recipe.beta1, t))),
          .inverse_root = static_cast<T>(1 / std::sqrt(1 - std::pow(recipe.beta2, t))),
          .epsilon = static_cast<T>(recipe.epsilon),
          .keep = static_cast<T>(1 - rate * recipe.weight_decay),
          .factor = static_cast<T>(factor)};
}

}  // namespace

namespace {

/// Sums of squares over at most kMostTasks fixed ranges, then over the ranges in order.
template <typename S>
double sum_of_squares(std::int64_t elements, const S* values, WorkerPool& pool) {
  const std::int64_t step = std::max(kElements, range_count(elements, kMostTasks));
  const std::int64_t tasks = range_count(elements, step);
  std::array<double, kMostTasks> partial{};
  pool.run(tasks, [&](std::int64_t task, std::int64_t) {
    const Range r = range_at(task, elements, step);
    for_pieces<S>(r.begin, r.end, [&](std::int64_t at, std::int64_t n) {
      PieceScratch<S> scratch;
      partial[static_cast<std::size_t>(task)] +=
          loops<Arithmetic<S>>().squared_sum(n, widened(n, values + at, scratch.values));
    });
  });
  double sum = 0;
  for (std::int64_t task = 0; task < tasks; ++task) sum += partial[static_cast<std::size_t>(task)];
  return sum;
}

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

}  // namespace

template <typename S>
void squared_norm(const OpShape& s, Operands operands, const LaunchContext& context) {
  const Gradient<S> gradient(operands[0], s.rows);
  *array<double>(operands, 1) = gradient.summed ? sum_of_squares(s.rows, gradient.sums(), *context.pool)
                                                : sum_of_squares(s.rows, gradient.stored(), *context.pool);
}

namespace {

/// One launch of AdamW. The weights that the optimizer keeps and its moments are stored as W: fp32 beside two-byte compute
/// weights, which are then written too, or all in two bytes.
template <typename S, typename W>
struct AdamW {
  using T = Arithmetic<S>;
  Gradient<S> gradient;
  const W *weights, *m, *v;
  W *new_weights, *new_m, *new_v;
  S* published;  ///< or null

  void update(std::int64_t at, std::int64_t n, const AdamWStep<T>& step) const {
    PieceScratch<S> of_gradient;
    PieceScratch<W> of_weights, of_m, of_v;
    T* moved = opened(n, new_weights + at, of_weights.values);
    T *first = opened(n, new_m + at, of_m.values), *second = opened(n, new_v + at, of_v.values);
    loops<T>().adamw(n, step, gradient.read(at, n, of_gradient), widened(n, weights + at, of_weights.values),
                     widened(n, m + at, of_m.values), widened(n, v + at, of_v.values), moved, first, second);
    store(n, moved, new_weights + at);
    store(n, first, new_m + at);
    store(n, second, new_v + at);
    if (published != nullptr) round_into(n, moved, published + at);
  }
};

template <typename S, typename W>
void run_adamw(const OpShape& s, Operands operands, const LaunchContext& context) {
  const bool in_place = operands[0].access == Access::kReadWrite;
  const bool clips = operands.size() > 4 && operands[4].access == Access::kRead;
  const std::size_t after = clips ? 5 : 4;
  const std::size_t next = in_place ? 0 : after;  // of the new weights
  const std::size_t last = in_place ? after : after + 3;
  const AdamW<S, W> kernel{.gradient = Gradient<S>(operands[3], s.rows),
                           .weights = array<W>(operands, 0),
                           .m = array<W>(operands, 1),
                           .v = array<W>(operands, 2),
                           .new_weights = array<W>(operands, next),
                           .new_m = array<W>(operands, next + 1),
                           .new_v = array<W>(operands, next + 2),
                           .published = last < operands.size() ? array<S>(operands, last) : nullptr};
  const auto decaying = numbers_of<Arithmetic<S>>(context, clips ? *array<const double>(operands, 4) : 1);
  auto constant = decaying;
  constant.keep = 1;
  context.pool->run(range_count(s.rows, kUpdateElements), [&](std::int64_t task, std::int64_t) {
    const Range r = range_at(task, s.rows, kUpdateElements);
    const std::int64_t boundary = std::clamp(s.inputs, r.begin, r.end);
    for_pieces<S>(r.begin, boundary, [&](std::int64_t at, std::int64_t n) { kernel.update(at, n, decaying); });
    for_pieces<S>(boundary, r.end, [&](std::int64_t at, std::int64_t n) { kernel.update(at, n, constant); });
  });
}

}  // namespace

/// AdamW with decoupled decay (Loshchilov and Hutter 2019, algorithm 2): the first `shape.inputs` elements decay. In place,
/// or from one version of the states to the next; the arithmetic is the same, since each element is read before it is
/// written.
template <typename S>
void adamw(const OpShape& s, Operands operands, const LaunchContext& context) {
  const bool wide = operands[0].bytes.count == s.rows * static_cast<std::int64_t>(sizeof(Arithmetic<S>));
  wide ? run_adamw<S, Arithmetic<S>>(s, operands, context) : run_adamw<S, S>(s, operands, context);
}

PLIMSOLL_INSTANTIATE_HALF_KERNEL(squared_norm);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(adamw);

}  // namespace plimsoll::kernels
