#include "core/graph/op_work.h"
#include "executor/kernels/kernels.h"
#include "executor/kernels/storage.h"
#include "executor/kernels/weight_offset.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::kernels {
namespace {

constexpr std::int64_t kRows = 16;  // of the forward tasks

/// A row of qkv: query heads, key heads, value heads.
struct Heads {
  explicit Heads(const OpShape& s)
      : dim(s.head_dim), queries(s.heads), normalized(s.heads + s.kv_heads), width((s.heads + 2 * s.kv_heads) * s.head_dim) {}
  std::int64_t dim, queries, normalized, width;
};

}  // namespace

/// Statistics hold one number a row and normalized head: the reciprocal root mean square.
template <typename S>
void head_norm(const OpShape& s, Operands operands, const LaunchContext& context) {
  using T = Arithmetic<S>;
  const Heads at(s);
  const S* x = array<S>(operands, 0);
  S* y = array<S>(operands, 3);
  T* statistics = array<T>(operands, 4);
  const T epsilon = static_cast<T>(s.constant), offset = weight_offset<T>(s);
  context.pool->run(range_count(s.rows, kRows), [&](std::int64_t task, std::int64_t) {
    const Range rows = range_at(task, s.rows, kRows);
    const Rows<S> scratch(at.dim, 4);
    const T* query_weight = widened(at.dim, array<S>(operands, 1), scratch.at(0));
    const T* key_weight = widened(at.dim, array<S>(operands, 2), scratch.at(1));
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const S* from = x + row * at.width;
      S* to = y + row * at.width;
      for (std::int64_t head = 0; head < at.normalized; ++head) {
        T mean_and_inverse[2];
        T* out = opened(at.dim, to + head * at.dim, scratch.at(3));
        loops<T>().rms_norm(at.dim, widened(at.dim, from + head * at.dim, scratch.at(2)),
                            head < at.queries ? query_weight : key_weight, offset, epsilon, out, mean_and_inverse);
        store(at.dim, out, to + head * at.dim);
        statistics[row * at.normalized + head] = mean_and_inverse[1];
      }
      std::copy(from + at.normalized * at.dim, from + at.width, to + at.normalized * at.dim);
    }
  });
}

namespace {

template <typename S>
struct HeadNormBackward {
  using T = Arithmetic<S>;
  const OpShape& s;
  Heads at;
  S* dqkv;
  const S *x, *query_weight, *key_weight;
  const T* statistics;
  T* partial;  // [tile][query, key][element]

  /// The gradients of one tile of rows, in place, and the tile's share of the weights' gradients.
  void tile(std::int64_t index) const {
    const Range rows = range_at(index, s.rows, kReductionRows);
    T* sums = partial + index * 2 * at.dim;
    std::fill(sums, sums + 2 * at.dim, T(0));
    const Rows<S> scratch(at.dim, 4);
    const T* of_query = widened(at.dim, query_weight, scratch.at(0));
    const T* of_key = widened(at.dim, key_weight, scratch.at(1));
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      for (std::int64_t head = 0; head < at.normalized; ++head) {
        const bool query = head < at.queries;
        S* stored = dqkv + row * at.width + head * at.dim;
        T* gradient = opened(at.dim, stored, scratch.at(2), true);
        loops<T>().norm_backward(at.dim, {.dy = gradient,
                                          .x = widened(at.dim, x + row * at.width + head * at.dim, scratch.at(3)),
                                          .weight = query ? of_query : of_key,
                                          .offset = weight_offset<T>(s),
                                          .inverse_deviation = statistics[row * at.normalized + head],
                                          .centred = false,
                                          .dx = gradient,
                                          .weight_sum = query ? sums : sums + at.dim});
        store(at.dim, gradient, stored);
      }
    }
  }

  /// Sums the tiles' shares in their order.
  void sum_tiles(std::int64_t which, S* stored) const {
    T* out = opened(at.dim, stored, row_scratch<S>(at.dim));
    std::fill(out, out + at.dim, T(0));
    for (std::int64_t i = 0; i < range_count(s.rows, kReductionRows); ++i) {
      loops<T>().add_to(at.dim, partial + (2 * i + which) * at.dim, out);
    }
    store(at.dim, out, stored);
  }
};

}  // namespace

template <typename S>
void head_norm_backward(const OpShape& s, Operands operands, const LaunchContext& context) {
  using T = Arithmetic<S>;
  const HeadNormBackward<S> kernel{.s = s,
                                   .at = Heads(s),
                                   .dqkv = array<S>(operands, 0),
                                   .x = array<S>(operands, 1),
                                   .query_weight = array<S>(operands, 2),
                                   .key_weight = array<S>(operands, 3),
                                   .statistics = array<T>(operands, 4),
                                   .partial = array<T>(operands, operands.size() - 1)};
  context.pool->run(range_count(s.rows, kReductionRows), [&](std::int64_t task, std::int64_t) { kernel.tile(task); });
  const bool trains = operands.size() > 6;
  if (!trains) return;
  context.pool->run(2, [&](std::int64_t which, std::int64_t) {
    kernel.sum_tiles(which, array<S>(operands, 5 + static_cast<std::size_t>(which)));
  });
}

PLIMSOLL_INSTANTIATE_HALF_KERNEL(head_norm);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(head_norm_backward);

}  // namespace plimsoll::kernels
