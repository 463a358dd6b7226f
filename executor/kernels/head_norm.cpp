#include "core/graph/op_work.h"
#include "executor/kernels/kernels.h"
#include "executor/kernels/loops.h"
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
template <typename T>
void head_norm(const OpShape& s, Operands operands, const LaunchContext& context) {
  const Heads at(s);
  const T *x = array<T>(operands, 0), *query_weight = array<T>(operands, 1), *key_weight = array<T>(operands, 2);
  T *y = array<T>(operands, 3), *statistics = array<T>(operands, 4);
  const T epsilon = static_cast<T>(s.constant), offset = weight_offset<T>(s);
  context.pool->run(range_count(s.rows, kRows), [&](std::int64_t task, std::int64_t) {
    const Range rows = range_at(task, s.rows, kRows);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const T* from = x + row * at.width;
      T* to = y + row * at.width;
      for (std::int64_t head = 0; head < at.normalized; ++head) {
        T mean_and_inverse[2];
        loops<T>().rms_norm(at.dim, from + head * at.dim, head < at.queries ? query_weight : key_weight, offset, epsilon,
                            to + head * at.dim, mean_and_inverse);
        statistics[row * at.normalized + head] = mean_and_inverse[1];
      }
      std::copy(from + at.normalized * at.dim, from + at.width, to + at.normalized * at.dim);
    }
  });
}

namespace {

template <typename T>
struct HeadNormBackward {
  const OpShape& s;
  Heads at;
  T* dqkv;
  const T *x, *query_weight, *key_weight, *statistics;
  T* partial;  // [tile][query, key][element]

  /// The gradients of one tile of rows, in place, and the tile's share of the weights' gradients.
  void tile(std::int64_t index) const {
    const Range rows = range_at(index, s.rows, kReductionRows);
    T* sums = partial + index * 2 * at.dim;
    std::fill(sums, sums + 2 * at.dim, T(0));
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      for (std::int64_t head = 0; head < at.normalized; ++head) {
        const bool query = head < at.queries;
        T* gradient = dqkv + row * at.width + head * at.dim;
        loops<T>().norm_backward(at.dim, {.dy = gradient,
                                          .x = x + row * at.width + head * at.dim,
                                          .weight = query ? query_weight : key_weight,
                                          .offset = weight_offset<T>(s),
                                          .inverse_deviation = statistics[row * at.normalized + head],
                                          .centred = false,
                                          .dx = gradient,
                                          .weight_sum = query ? sums : sums + at.dim});
      }
    }
  }

  /// Sums the tiles' shares in their order.
  void sum_tiles(std::int64_t which, T* out) const {
    std::fill(out, out + at.dim, T(0));
    for (std::int64_t i = 0; i < range_count(s.rows, kReductionRows); ++i) {
      loops<T>().add_to(at.dim, partial + (2 * i + which) * at.dim, out);
    }
  }
};

}  // namespace

template <typename T>
void head_norm_backward(const OpShape& s, Operands operands, const LaunchContext& context) {
  const HeadNormBackward<T> kernel{.s = s,
                                   .at = Heads(s),
                                   .dqkv = array<T>(operands, 0),
                                   .x = array<T>(operands, 1),
                                   .query_weight = array<T>(operands, 2),
                                   .key_weight = array<T>(operands, 3),
                                   .statistics = array<T>(operands, 4),
                                   .partial = array<T>(operands, 7)};
  context.pool->run(range_count(s.rows, kReductionRows), [&](std::int64_t task, std::int64_t) { kernel.tile(task); });
  context.pool->run(2, [&](std::int64_t which, std::int64_t) { kernel.sum_tiles(which, array<T>(operands, 5 + which)); });
}

PLIMSOLL_INSTANTIATE_KERNEL(head_norm);
PLIMSOLL_INSTANTIATE_KERNEL(head_norm_backward);

}  // namespace plimsoll::kernels
