#include <array>
#include <cmath>

#include "core/graph/attention_work.h"
#include "core/graph/op_tasks.h"
#include "executor/kernels/attention_layout.h"
#include "executor/kernels/kernels.h"
#include "executor/kernels/visible_keys.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::kernels {
namespace {

/// A worker's slice of the workspace. Only two-byte types, and steps that join, need more than the scores: see attention_slice.
template <typename T>
struct AttentionScratch {
  AttentionScratch(const AttentionLayout& at, T* slice)
      : scores(slice),
        queries(scores + kAttentionRows * at.key_rows),
        out(queries + kAttentionRows * at.dim),
        keys(out + kAttentionRows * at.dim),
        values(keys + at.key_rows * at.dim) {}
  T *scores, *queries, *out, *keys, *values;
};

template <typename S>
struct Attention {
  using T = Arithmetic<S>;
  AttentionLayout at;
  VisibleKeys visible;
  const MatrixProduct& library;
  const S *qkv, *all_keys;
  S* out;
  T* log_sum_exp;
  const T* bias = nullptr;  ///< of distances; null: there is none

  /// What softmax leaves of a tile's rows: the logarithms of its sums, and the sums' reciprocals.
  struct RowSums {
    std::array<T, kAttentionRows> logarithm, inverse;
  };

  /// softmax of the tile's scores with `keys` keys, row by row and unnormalised.
  void soften(std::int64_t seq, std::int64_t head, Range rows, std::int64_t keys, T* scores, RowSums& sums) const {
    const Loops<T>& loop = loops<T>();
    const T scale = static_cast<T>(at.scale);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      T* score = scores + (row - rows.begin) * keys;
      const std::int64_t seen = visible.of_row(seq, row);
      if (bias != nullptr) loop.add_to(seen, bias + at.bias(row, head), score);
      const T most = scale * loop.largest(seen, score);
      const T sum = loop.exp_in_place(seen, scale, most, score);
      std::fill(score + seen, score + keys, T(0));
      const auto i = static_cast<std::size_t>(row - rows.begin);
      sums.logarithm[i] = most + std::log(sum);
      sums.inverse[i] = 1 / sum;
    }
  }

  void multiply_scores(std::int64_t seq, std::int64_t head, Range rows, std::int64_t keys,
                       const AttentionScratch<T>& scratch) const {
    const S* query = qkv + at.query(seq, rows.begin, head);
    const S* key = all_keys + at.key(seq, head / at.group);
    library.multiply(Product<T>{.rows = rows.size(),
                                .columns = keys,
                                .depth = at.dim,
                                .a = wide_matrix(query, at.qkv_width, rows.size(), at.dim, scratch.queries),
                                .b = transposed(wide_matrix(key, at.key_width, keys, at.dim, scratch.keys)),
                                .c = scratch.scores,
                                .c_stride = keys});
  }

  /// The tile's weights times the values, unnormalised.
  void multiply_values(std::int64_t seq, std::int64_t head, Range rows, std::int64_t keys, const AttentionScratch<T>& scratch,
                       T* sums, std::int64_t stride) const {
    const S* value = all_keys + at.value(seq, head / at.group);
    library.multiply(Product<T>{.rows = rows.size(),
                                .columns = at.dim,
                                .depth = keys,
                                .a = {scratch.scores, keys, false},
                                .b = wide_matrix(value, at.key_width, keys, at.dim, scratch.values),
                                .c = sums,
                                .c_stride = stride});
  }

  /// One tile of queries of one head: scores, softmax, weighted sum of the values.
  void tile(std::int64_t seq, std::int64_t head, Range rows, const AttentionScratch<T>& scratch) const {
    const std::int64_t keys = visible.of_rows(seq, rows);
    multiply_scores(seq, head, rows, keys, scratch);
    RowSums of;
    soften(seq, head, rows, keys, scratch.scores, of);
    S* y = out + at.out(seq, rows.begin, head);
    T* sums = kIsHalf<S> ? scratch.out : opened<S>(0, y, nullptr);
    const std::int64_t stride = kIsHalf<S> ? at.dim : at.out_width;
    multiply_values(seq, head, rows, keys, scratch, sums, stride);
    for (std::int64_t i = 0; i < rows.size(); ++i) {
      log_sum_exp[at.log_sum_exp(seq, rows.begin + i, head)] = of.logarithm[static_cast<std::size_t>(i)];
      loops<T>().scale(at.dim, of.inverse[static_cast<std::size_t>(i)], sums + i * stride);
      store(at.dim, sums + i * stride, y + i * at.out_width);
    }
  }

  /// The same with other keys than `out` has seen. With L the logarithm of a sum of exponentials, o and o' what each part alone
  /// gives: L" = log(e^L + e^L'), and o" = e^(L - L") o + e^(L' - L") o' (Liu et al. 2023, ring attention).
  void join_tile(std::int64_t seq, std::int64_t head, Range rows, const AttentionScratch<T>& scratch) const {
    const std::int64_t keys = visible.of_rows(seq, rows);
    multiply_scores(seq, head, rows, keys, scratch);
    RowSums of;
    soften(seq, head, rows, keys, scratch.scores, of);
    multiply_values(seq, head, rows, keys, scratch, scratch.out, at.dim);
    for (std::int64_t i = 0; i < rows.size(); ++i) {
      T& stored = log_sum_exp[at.log_sum_exp(seq, rows.begin + i, head)];
      const T before = stored, found = of.logarithm[static_cast<std::size_t>(i)], most = std::max(before, found);
      stored = most + std::log(std::exp(before - most) + std::exp(found - most));
      S* y = out + at.out(seq, rows.begin + i, head);
      T* row = opened(at.dim, y, scratch.queries, true);
      loops<T>().scale(at.dim, std::exp(before - stored), row);
      loops<T>().scale_add_to(at.dim, std::exp(found - stored) * of.inverse[static_cast<std::size_t>(i)],
                              scratch.out + i * at.dim, row);
      store(at.dim, row, y);
    }
  }
};

/// Calls task(sequence, head, rows, scratch) for all tiles of queries.
template <typename S, typename Task>
void for_tiles(const OpShape& s, OpKind kind, const AttentionLayout& at, const OperandView& workspace,
               const LaunchContext& context, const Task& task) {
  using T = Arithmetic<S>;
  const std::int64_t slice = attention_slice(kind, s, kIsHalf<S>);
  const std::int64_t tiles = range_count(s.sequence, kAttentionRows);
  const std::int64_t heads = s.rows / s.sequence * s.heads;
  context.pool->run(
      tasks_of(kind, s),
      [&](std::int64_t index, std::int64_t worker) {
        const std::int64_t tile =
            tiles - 1 - index / heads;  // the longest first, so that no worker waits for one at the end
        const std::int64_t head = index % heads;
        task(head / s.heads, head % s.heads, range_at(tile, s.sequence, kAttentionRows),
             AttentionScratch<T>(at, reinterpret_cast<T*>(workspace.data) + worker * slice));
      },
      slices<T>(workspace, slice));
}

/// All tiles, each of queries that meet all their keys at once.
template <typename S>
void attend(const OpShape& s, OpKind kind, const Attention<S>& kernel, const OperandView& workspace,
            const LaunchContext& context) {
  for_tiles<S>(s, kind, kernel.at, workspace, context,
               [&](std::int64_t seq, std::int64_t head, Range rows, const AttentionScratch<Arithmetic<S>>& scratch) {
                 kernel.tile(seq, head, rows, scratch);
               });
}

}  // namespace

template <typename S>
void attention(const OpShape& s, Operands operands, const LaunchContext& context) {
  using T = Arithmetic<S>;
  const std::size_t made = has_extents(s) ? 2 : 1;  // the first operand that is written
  const Attention<S> kernel{.at = AttentionLayout(s),
                            .visible = {s, has_extents(s) ? array<const std::int32_t>(operands, 1) : nullptr},
                            .library = *context.product,
                            .qkv = array<S>(operands, 0),
                            .all_keys = array<S>(operands, 0),
                            .out = array<S>(operands, made),
                            .log_sum_exp = array<T>(operands, made + 1)};
  attend(s, OpKind::kAttention, kernel, operands[made + 2], context);
}

template <typename S>
void attention_step(const OpShape& s, Operands operands, const LaunchContext& context) {
  using T = Arithmetic<S>;
  const Attention<S> kernel{.at = AttentionLayout(s, true),
                            .visible = {s, nullptr},
                            .library = *context.product,
                            .qkv = array<S>(operands, 0),
                            .all_keys = array<S>(operands, 1),
                            .out = array<S>(operands, 2),
                            .log_sum_exp = array<T>(operands, 3)};
  for_tiles<S>(s, OpKind::kAttentionStep, kernel.at, operands[4], context,
               [&](std::int64_t seq, std::int64_t head, Range rows, const AttentionScratch<T>& scratch) {
                 kernel.join_tile(seq, head, rows, scratch);
               });
}

template <typename S>
void biased_attention(const OpShape& s, Operands operands, const LaunchContext& context) {
  using T = Arithmetic<S>;
  const Attention<S> kernel{.at = AttentionLayout::biased(s),
                            .visible = {s, nullptr},
                            .library = *context.product,
                            .qkv = array<S>(operands, 0),
                            .all_keys = array<S>(operands, 0),
                            .out = array<S>(operands, 2),
                            .log_sum_exp = array<T>(operands, 3),
                            .bias = array<T>(operands, 1)};
  attend(s, OpKind::kBiasedAttention, kernel, operands[4], context);
}

template <typename S>
void cross_attention(const OpShape& s, Operands operands, const LaunchContext& context) {
  using T = Arithmetic<S>;
  const Attention<S> kernel{.at = AttentionLayout::cross(s),
                            .visible = {s, nullptr, s.inputs},
                            .library = *context.product,
                            .qkv = array<S>(operands, 0),
                            .all_keys = array<S>(operands, 1),
                            .out = array<S>(operands, 2),
                            .log_sum_exp = array<T>(operands, 3)};
  attend(s, OpKind::kCrossAttention, kernel, operands[4], context);
}

PLIMSOLL_INSTANTIATE_HALF_KERNEL(biased_attention);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(cross_attention);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(attention);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(attention_step);

}  // namespace plimsoll::kernels
