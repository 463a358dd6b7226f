#include "core/model/model_spec.h"
#include "executor/kernels/kernels.h"
#include "executor/kernels/loops.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::kernels {
namespace {

constexpr std::int64_t kElements = std::int64_t{1} << 15;  // of one task: its operands fit a second-level cache
constexpr std::int64_t kRows = 8;                          // of one task of a gated activation

/// Calls function(range) for fixed ranges of [0, elements) over the workers.
template <typename Function>
void for_elements(WorkerPool& pool, std::int64_t elements, const Function& function) {
  pool.run(range_count(elements, kElements),
           [&](std::int64_t task, std::int64_t) { function(range_at(task, elements, kElements)); });
}

ActivationKind kind_of(const OpShape& shape) { return static_cast<ActivationKind>(shape.variant); }

}  // namespace

template <typename T>
void add(const OpShape& s, Operands operands, const LaunchContext& context) {
  const T *a = array<T>(operands, 0), *b = array<T>(operands, 1);
  T* y = array<T>(operands, 2);
  for_elements(*context.pool, s.rows * s.inputs,
               [&](Range r) { loops<T>().add(r.size(), a + r.begin, b + r.begin, y + r.begin); });
}

template <typename T>
void accumulate(const OpShape& s, Operands operands, const LaunchContext& context) {
  const T* gradient = array<T>(operands, 0);
  T* sum = array<T>(operands, 1);
  const bool starts = operands[1].access == Access::kWrite;
  for_elements(*context.pool, s.rows, [&](Range r) {
    if (starts) {
      std::copy(gradient + r.begin, gradient + r.end, sum + r.begin);
    } else {
      loops<T>().add_to(r.size(), gradient + r.begin, sum + r.begin);
    }
  });
}

template <typename T>
void activation(const OpShape& s, Operands operands, const LaunchContext& context) {
  const T* x = array<T>(operands, 0);
  T* y = array<T>(operands, 1);
  const Loops<T>& loop = loops<T>();
  if (!is_gated(kind_of(s))) {
    const auto apply = kind_of(s) == ActivationKind::kGelu ? loop.gelu : loop.gelu_tanh;
    for_elements(*context.pool, s.rows * s.outputs, [&](Range r) { apply(r.size(), x + r.begin, y + r.begin); });
    return;
  }
  const auto apply = kind_of(s) == ActivationKind::kSwiGlu ? loop.swiglu : loop.geglu_tanh;
  context.pool->run(range_count(s.rows, kRows), [&](std::int64_t task, std::int64_t) {
    const Range rows = range_at(task, s.rows, kRows);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      apply(s.outputs, x + row * 2 * s.outputs, y + row * s.outputs);
    }
  });
}

template <typename T>
void activation_backward(const OpShape& s, Operands operands, const LaunchContext& context) {
  const T *x = array<T>(operands, 0), *dy = array<T>(operands, 1);
  T* dx = array<T>(operands, 2);
  const Loops<T>& loop = loops<T>();
  if (!is_gated(kind_of(s))) {
    const auto apply = kind_of(s) == ActivationKind::kGelu ? loop.gelu_backward : loop.gelu_tanh_backward;
    for_elements(*context.pool, s.rows * s.outputs,
                 [&](Range r) { apply(r.size(), x + r.begin, dy + r.begin, dx + r.begin); });
    return;
  }
  const auto apply = kind_of(s) == ActivationKind::kSwiGlu ? loop.swiglu_backward : loop.geglu_tanh_backward;
  context.pool->run(range_count(s.rows, kRows), [&](std::int64_t task, std::int64_t) {
    const Range rows = range_at(task, s.rows, kRows);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      apply(s.outputs, x + row * 2 * s.outputs, dy + row * s.outputs, dx + row * 2 * s.outputs);
    }
  });
}

PLIMSOLL_INSTANTIATE_KERNEL(add);
PLIMSOLL_INSTANTIATE_KERNEL(accumulate);
PLIMSOLL_INSTANTIATE_KERNEL(activation);
PLIMSOLL_INSTANTIATE_KERNEL(activation_backward);

}  // namespace plimsoll::kernels
