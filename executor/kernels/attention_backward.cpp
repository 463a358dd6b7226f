#include <array>

#include "core/graph/attention_work.h"
#include "core/graph/op_tasks.h"
#include "executor/kernels/attention_layout.h"
#include "executor/kernels/kernels.h"
#include "executor/kernels/visible_keys.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::kernels {
namespace {

/// A worker's slice of the workspace. Only two-byte types need more than P and dP: see attention_slice.
template <typename T>
struct BackwardScratch {
  BackwardScratch(const AttentionLayout& at, T* slice)
      : p(slice),
        dp(p + kAttentionRows * at.key_rows),
        queries(dp + kAttentionRows * at.key_rows),
        out(queries + kAttentionRows * at.dim),
        dout(out + kAttentionRows * at.dim),
        dqueries(dout + kAttentionRows * at.dim),
        keys(dqueries + kAttentionRows * at.dim),
        values(keys + at.key_rows * at.dim),
        dkeys(values + at.key_rows * at.dim),
        dvalues(dkeys + at.key_rows * at.dim) {}
  T *p, *dp, *queries, *out, *dout, *dqueries, *keys, *values, *dkeys, *dvalues;
};

/// A matrix that is written: where it lies, or a widened one to be rounded in the end.
template <typename T>
struct Target {
  T* data = nullptr;
  std::int64_t stride = 0;
};

/// With P = softmax of the scaled scores S = q kᵀ (Dao 2023, FlashAttention-2, algorithm 2):
/// dV = Pᵀ dO, dP = dO Vᵀ, dS = P ∘ (dP − rowsum(dO ∘ O)) / √d, dQ = dS K, dK = dSᵀ Q.
template <typename S>
struct AttentionBackward {
  using T = Arithmetic<S>;
  using View = MatrixView<T>;
  AttentionLayout at;
  VisibleKeys visible;
  const MatrixProduct& library;
  const S *qkv, *all_keys, *out;
  const T* log_sum_exp;
  const S* dout;
  S *dqkv, *all_dkeys;
  bool adds_queries = false, adds_keys = false;  ///< to gradients that stand there, of the queries or of the keys
  const T* bias = nullptr;                       ///< of distances; null: there is none
  T* bias_parts = nullptr;                       ///< each sequence's part of its gradient

  /// Where to compute `rows` rows of a gradient; with `adds`, what is stored stands in it.
  [[nodiscard]] Target<T> target(S* stored, std::int64_t width, std::int64_t rows, bool adds, T* scratch) const {
    if constexpr (kIsHalf<S>) {
      for (std::int64_t row = 0; adds && row < rows; ++row) widen_into(at.dim, stored + row * width, scratch + row * at.dim);
      return {scratch, at.dim};
    } else {
      return {stored, width};
    }
  }

  /// Turns scores with `keys` keys into P and dP into dS, row by row.
  void score_gradients(std::int64_t seq, std::int64_t head, Range rows, std::int64_t keys, const View& o, const View& d_o,
                       const BackwardScratch<T>& scratch) const {
    const Loops<T>& loop = loops<T>();
    const T scale = static_cast<T>(at.scale);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const std::int64_t i = row - rows.begin;
      T *p_row = scratch.p + i * keys, *dp_row = scratch.dp + i * keys;
      const std::int64_t seen = visible.of_row(seq, row);
      if (bias != nullptr) loop.add_to(seen, bias + at.bias(row, head), p_row);
      loop.exp_in_place(seen, scale, log_sum_exp[at.log_sum_exp(seq, row, head)], p_row);
      loop.score_gradient(seen, scale, loop.dot(at.dim, d_o.data + i * d_o.stride, o.data + i * o.stride), p_row, dp_row);
      if (bias != nullptr) loop.add_to(seen, dp_row, part_of(seq) + at.bias(row, head));
      std::fill(p_row + seen, p_row + keys, T(0));
      std::fill(dp_row + seen, dp_row + keys, T(0));
    }
  }

  [[nodiscard]] T* part_of(std::int64_t seq) const { return bias_parts + seq * at.heads * distance_count(at.sequence); }

  /// rows × keys: a tile's rows times its first keys (or values), transposed.
  void times_keys(Range rows, std::int64_t keys, const View& a, const View& of_keys, T* c) const {
    library.multiply(Product<T>{.rows = rows.size(),
                                .columns = keys,
                                .depth = at.dim,
                                .a = a,
                                .b = transposed(of_keys),
                                .c = c,
                                .c_stride = keys});
  }

  /// keys × head: adds scoresᵀ times the tile's rows to the gradient of its first keys (or values).
  void add_to_keys(Range rows, std::int64_t keys, const T* scores, const View& b, const Target<T>& c) const {
    library.multiply(Product<T>{.rows = keys,
                                .columns = at.dim,
                                .depth = rows.size(),
                                .a = {scores, keys, true},
                                .b = b,
                                .c = c.data,
                                .c_stride = c.stride,
                                .adds = true});
  }

  /// What the tiles of one key and value head share.
  struct KeyHead {
    View keys, values;
    Target<T> dkeys, dvalues;
  };

  void tile(std::int64_t seq, std::int64_t head, Range rows, const KeyHead& kv, const BackwardScratch<T>& scratch) const {
    const std::int64_t query = at.query(seq, rows.begin, head), o = at.out(seq, rows.begin, head);
    const View q = wide_matrix(qkv + query, at.qkv_width, rows.size(), at.dim, scratch.queries);
    const View y = wide_matrix(out + o, at.out_width, rows.size(), at.dim, scratch.out);
    const View dy = wide_matrix(dout + o, at.out_width, rows.size(), at.dim, scratch.dout);
    const std::int64_t keys = visible.of_rows(seq, rows);
    times_keys(rows, keys, q, kv.keys, scratch.p);
    times_keys(rows, keys, dy, kv.values, scratch.dp);
    score_gradients(seq, head, rows, keys, y, dy, scratch);
    add_to_keys(rows, keys, scratch.p, dy, kv.dvalues);
    add_to_keys(rows, keys, scratch.dp, q, kv.dkeys);
    const Target<T> dq = target(dqkv + query, at.qkv_width, rows.size(), adds_queries, scratch.dqueries);
    library.multiply(Product<T>{.rows = rows.size(),
                                .columns = at.dim,
                                .depth = keys,
                                .a = {scratch.dp, keys, false},
                                .b = kv.keys,
                                .c = dq.data,
                                .c_stride = dq.stride,
                                .adds = adds_queries});
    store_rows(rows.size(), dq, dqkv + query, at.qkv_width);
  }

  void clear(const Target<T>& gradient) const {
    for (std::int64_t row = 0; row < at.key_rows; ++row) {
      T* begin = gradient.data + row * gradient.stride;
      std::fill(begin, begin + at.dim, T(0));
    }
  }

  void clear_part(std::int64_t seq, std::int64_t kv) const {
    const std::int64_t numbers = at.group * distance_count(at.sequence);
    T* begin = part_of(seq) + kv * numbers;
    std::fill(begin, begin + numbers, T(0));
  }

  /// The sum of the sequences' parts in their order, a head a task; with `adds`, to what stands there.
  void sum_parts(T* d_bias, bool adds, WorkerPool& pool) const {
    const std::int64_t numbers = distance_count(at.sequence);
    pool.run(at.heads, [&](std::int64_t head, std::int64_t) {
      T* sum = d_bias + head * numbers;
      if (!adds) std::fill(sum, sum + numbers, T(0));
      for (std::int64_t seq = 0; seq < at.sequences; ++seq)
        loops<T>().add_to(numbers, part_of(seq) + head * numbers, sum);
    });
  }

  void store_rows(std::int64_t rows, const Target<T>& computed, S* stored, std::int64_t width) const {
    for (std::int64_t row = 0; row < rows; ++row) {
      store(at.dim, computed.data + row * computed.stride, stored + row * width);
    }
  }

  /// Everything that one key and value head of one sequence touches, its query heads and their tiles in order.
  void kv_head(std::int64_t seq, std::int64_t kv, const BackwardScratch<T>& scratch) const {
    const std::int64_t key = at.key(seq, kv), value = at.value(seq, kv);
    const KeyHead shared{.keys = wide_matrix(all_keys + key, at.key_width, at.key_rows, at.dim, scratch.keys),
                         .values = wide_matrix(all_keys + value, at.key_width, at.key_rows, at.dim, scratch.values),
                         .dkeys = target(all_dkeys + key, at.key_width, at.key_rows, adds_keys, scratch.dkeys),
                         .dvalues = target(all_dkeys + value, at.key_width, at.key_rows, adds_keys, scratch.dvalues)};
    if (!adds_keys) clear(shared.dkeys);
    if (!adds_keys) clear(shared.dvalues);
    if (bias != nullptr) clear_part(seq, kv);
    for (std::int64_t head = kv * at.group; head < (kv + 1) * at.group; ++head) {
      for (std::int64_t i = 0; i < range_count(at.sequence, kAttentionRows); ++i) {
        tile(seq, head, range_at(i, at.sequence, kAttentionRows), shared, scratch);
      }
    }
    store_rows(at.key_rows, shared.dkeys, all_dkeys + key, at.key_width);
    store_rows(at.key_rows, shared.dvalues, all_dkeys + value, at.key_width);
  }

  /// All of it, a key and value head of a sequence a task.
  void run(OpKind kind, const OpShape& s, const OperandView& workspace, const LaunchContext& context) const {
    const std::int64_t slice = attention_slice(kind, s, kIsHalf<S>);
    T* scratch = reinterpret_cast<T*>(workspace.data);
    context.pool->run(
        tasks_of(kind, s),
        [&](std::int64_t task, std::int64_t worker) {
          kv_head(task / s.kv_heads, task % s.kv_heads, BackwardScratch<T>(at, scratch + worker * slice));
        },
        slices<T>(workspace, slice));
  }
};

}  // namespace

template <typename S>
void attention_backward(const OpShape& s, Operands operands, const LaunchContext& context) {
  const std::size_t next = has_extents(s) ? 2 : 1;  // the operand after what says which keys are seen
  const AttentionBackward<S> kernel{.at = AttentionLayout(s),
                                    .visible = {s, has_extents(s) ? array<const std::int32_t>(operands, 1) : nullptr},
                                    .library = *context.product,
                                    .qkv = array<S>(operands, 0),
                                    .all_keys = array<S>(operands, 0),
                                    .out = array<S>(operands, next),
                                    .log_sum_exp = array<Arithmetic<S>>(operands, next + 1),
                                    .dout = array<S>(operands, next + 2),
                                    .dqkv = array<S>(operands, next + 3),
                                    .all_dkeys = array<S>(operands, next + 3)};
  kernel.run(OpKind::kAttentionBackward, s, operands[next + 4], context);
}

template <typename S>
void attention_step_backward(const OpShape& s, Operands operands, const LaunchContext& context) {
  const AttentionBackward<S> kernel{.at = AttentionLayout(s, true),
                                    .visible = {s, nullptr},
                                    .library = *context.product,
                                    .qkv = array<S>(operands, 0),
                                    .all_keys = array<S>(operands, 1),
                                    .out = array<S>(operands, 2),
                                    .log_sum_exp = array<Arithmetic<S>>(operands, 3),
                                    .dout = array<S>(operands, 4),
                                    .dqkv = array<S>(operands, 5),
                                    .all_dkeys = array<S>(operands, 6),
                                    .adds_queries = true,
                                    .adds_keys = operands[6].access == Access::kReadWrite};
  kernel.run(OpKind::kAttentionStepBackward, s, operands[7], context);
}

template <typename S>
void biased_attention_backward(const OpShape& s, Operands operands, const LaunchContext& context) {
  using T = Arithmetic<S>;
  const std::int64_t parts = bias_parts(OpKind::kBiasedAttentionBackward, s);
  const AttentionBackward<S> kernel{.at = AttentionLayout::biased(s),
                                    .visible = {s, nullptr},
                                    .library = *context.product,
                                    .qkv = array<S>(operands, 0),
                                    .all_keys = array<S>(operands, 0),
                                    .out = array<S>(operands, 2),
                                    .log_sum_exp = array<T>(operands, 3),
                                    .dout = array<S>(operands, 4),
                                    .dqkv = array<S>(operands, 5),
                                    .all_dkeys = array<S>(operands, 5),
                                    .bias = array<T>(operands, 1),
                                    .bias_parts = array<T>(operands, 7)};
  OperandView of_workers = operands[7];
  const Bytes before(parts * static_cast<std::int64_t>(sizeof(T)));
  of_workers.data += before.count;
  of_workers.bytes = of_workers.bytes - before;
  kernel.run(OpKind::kBiasedAttentionBackward, s, of_workers, context);
  kernel.sum_parts(array<T>(operands, 6), operands[6].access == Access::kReadWrite, *context.pool);
}

template <typename S>
void cross_attention_backward(const OpShape& s, Operands operands, const LaunchContext& context) {
  const AttentionBackward<S> kernel{.at = AttentionLayout::cross(s),
                                    .visible = {s, nullptr, s.inputs},
                                    .library = *context.product,
                                    .qkv = array<S>(operands, 0),
                                    .all_keys = array<S>(operands, 1),
                                    .out = array<S>(operands, 2),
                                    .log_sum_exp = array<Arithmetic<S>>(operands, 3),
                                    .dout = array<S>(operands, 4),
                                    .dqkv = array<S>(operands, 5),
                                    .all_dkeys = array<S>(operands, 6)};
  kernel.run(OpKind::kCrossAttentionBackward, s, operands[7], context);
}

PLIMSOLL_INSTANTIATE_HALF_KERNEL(biased_attention_backward);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(cross_attention_backward);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(attention_backward);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(attention_step_backward);

}  // namespace plimsoll::kernels
