#include "executor/kernels/kernels.h"
#include "executor/kernels/loops.h"
#include "executor/kernels/storage.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::kernels {
namespace {

constexpr std::int64_t kRows = 64;

/// Where keys and values stand in a row of qkv, and how wide they are.
struct KeyColumns {
  explicit KeyColumns(const OpShape& s)
      : first(s.heads * s.head_dim), width(2 * s.kv_heads * s.head_dim), row(first + width) {}
  std::int64_t first, width, row;
};

}  // namespace

template <typename S>
void keys_values(const OpShape& s, Operands operands, const LaunchContext& context) {
  const KeyColumns of(s);
  const S* qkv = array<S>(operands, 0);
  S* apart = array<S>(operands, 1);
  context.pool->run(range_count(s.rows, kRows), [&](std::int64_t task, std::int64_t) {
    const Range rows = range_at(task, s.rows, kRows);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const S* from = qkv + row * of.row + of.first;
      std::copy(from, from + of.width, apart + row * of.width);
    }
  });
}

/// Adds what other ranks found to this rank's own part of its keys' and values' gradients.
template <typename S>
void keys_values_backward(const OpShape& s, Operands operands, const LaunchContext& context) {
  using T = Arithmetic<S>;
  const KeyColumns of(s);
  const S* apart = array<S>(operands, 0);
  S* dqkv = array<S>(operands, 1);
  const Loops<T>& loop = loops<T>();
  context.pool->run(range_count(s.rows, kRows), [&](std::int64_t task, std::int64_t) {
    const Range rows = range_at(task, s.rows, kRows);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      for_pieces<S>(0, of.width, [&](std::int64_t at, std::int64_t n) {
        PieceScratch<S> sum, added;
        S* stored = dqkv + row * of.row + of.first + at;
        T* out = opened(n, stored, sum.values, true);
        loop.add_to(n, widened(n, apart + row * of.width + at, added.values), out);
        store(n, out, stored);
      });
    }
  });
}

PLIMSOLL_INSTANTIATE_HALF_KERNEL(keys_values);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(keys_values_backward);

}  // namespace plimsoll::kernels
