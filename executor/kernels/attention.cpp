#include <array>
#include <cmath>

#include "core/graph/op_tasks.h"
#include "core/graph/op_work.h"
#include "executor/kernels/attention_layout.h"
#include "executor/kernels/kernels.h"
#include "executor/kernels/visible_keys.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::kernels {
namespace {

/// A worker's slice of the workspace. Only two-byte types need more than the scores: see attention_slice.
template <typename T>
struct AttentionScratch {
  AttentionScratch(const AttentionLayout& at, T* slice)
      : scores(slice),
        queries(scores + kAttentionRows * at.sequence),
        out(queries + kAttentionRows * at.dim),
        keys(out + kAttentionRows * at.dim),
        values(keys + at.sequence * at.dim) {}
  T *scores, *queries, *out, *keys, *values;
};

template <typename S>
struct Attention {
  using T = Arithmetic<S>;
  AttentionLayout at;
  VisibleKeys visible;
  const MatrixProduct& library;
  const S* qkv;
  S* out;
  T* log_sum_exp;

  /// softmax of the tile's scores with `keys` keys, row by row and unnormalised. Returns the reciprocal sums through
  /// `inverse`.
  void soften(std::int64_t seq, std::int64_t head, Range rows, std::int64_t keys, T* scores, T* inverse) const {
    const Loops<T>& loop = loops<T>();
    const T scale = score_scale<T>(at);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      T* score = scores + (row - rows.begin) * keys;
      const std::int64_t seen = visible.of_row(seq, row);
      const T most = scale * loop.largest(seen, score);
      const T sum = loop.exp_in_place(seen, scale, most, score);
      std::fill(score + seen, score + keys, T(0));
      log_sum_exp[at.log_sum_exp(seq, row, head)] = most + std::log(sum);
      inverse[row - rows.begin] = 1 / sum;
    }
  }

  void multiply_scores(std::int64_t seq, std::int64_t head, Range rows, std::int64_t keys,
                       const AttentionScratch<T>& scratch) const {
    const S* query = qkv + at.query(seq, rows.begin, head);
    const S* key = qkv + at.key(seq, head / at.group);
    library.multiply(Product<T>{.rows = rows.size(),
                                .columns = keys,
                                .depth = at.dim,
                                .a = wide_matrix(query, at.qkv_width, rows.size(), at.dim, scratch.queries),
                                .b = transposed(wide_matrix(key, at.qkv_width, keys, at.dim, scratch.keys)),
                                .c = scratch.scores,
                                .c_stride = keys});
  }

  /// One tile of queries of one head: scores, softmax, weighted sum of the values.
  void tile(std::int64_t seq, std::int64_t head, Range rows, const AttentionScratch<T>& scratch) const {
    const std::int64_t keys = visible.of_rows(seq, rows);
    multiply_scores(seq, head, rows, keys, scratch);
    std::array<T, kAttentionRows> inverse;
    soften(seq, head, rows, keys, scratch.scores, inverse.data());
    S* y = out + at.out(seq, rows.begin, head);
    T* sums = kIsHalf<S> ? scratch.out : opened<S>(0, y, nullptr);
    const std::int64_t stride = kIsHalf<S> ? at.dim : at.out_width;
    const S* value = qkv + at.value(seq, head / at.group);
    library.multiply(Product<T>{.rows = rows.size(),
                                .columns = at.dim,
                                .depth = keys,
                                .a = {scratch.scores, keys, false},
                                .b = wide_matrix(value, at.qkv_width, keys, at.dim, scratch.values),
                                .c = sums,
                                .c_stride = stride});
    for (std::int64_t i = 0; i < rows.size(); ++i) {
      loops<T>().scale(at.dim, inverse[static_cast<std::size_t>(i)], sums + i * stride);
      store(at.dim, sums + i * stride, y + i * at.out_width);
    }
  }
};

}  // namespace

template <typename S>
void attention(const OpShape& s, Operands operands, const LaunchContext& context) {
  using T = Arithmetic<S>;
  const std::size_t made = has_extents(s) ? 2 : 1;  // the first operand that is written
  const Attention<S> kernel{.at = AttentionLayout(s),
                            .visible = {s, has_extents(s) ? array<const std::int32_t>(operands, 1) : nullptr},
                            .library = *context.product,
                            .qkv = array<S>(operands, 0),
                            .out = array<S>(operands, made),
                            .log_sum_exp = array<T>(operands, made + 1)};
  T* workspace = array<T>(operands, made + 2);
  const std::int64_t slice = attention_slice(OpKind::kAttention, s, kIsHalf<S>);
  const std::int64_t tiles = range_count(s.sequence, kAttentionRows);
  const std::int64_t heads = kernel.at.sequences * s.heads;
  context.pool->run(
      tasks_of(OpKind::kAttention, s),
      [&](std::int64_t task, std::int64_t worker) {
        const std::int64_t tile =
            tiles - 1 - task / heads;  // the longest first, so that no worker waits for one at the end
        const std::int64_t head = task % heads;
        kernel.tile(head / s.heads, head % s.heads, range_at(tile, s.sequence, kAttentionRows),
                    AttentionScratch<T>(kernel.at, workspace + worker * slice));
      },
      slices<T>(operands[made + 2], slice));
}

PLIMSOLL_INSTANTIATE_HALF_KERNEL(attention);

}  // namespace plimsoll::kernels
