#include <array>

#include "core/graph/op_tasks.h"
#include "core/graph/op_work.h"
#include "executor/kernels/attention_layout.h"
#include "executor/kernels/kernels.h"
#include "executor/kernels/loops.h"
#include "executor/kernels/matrix_product.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::kernels {
namespace {

/// With P = softmax of the scaled scores S = q kᵀ (Dao 2023, FlashAttention-2, algorithm 2):
/// dV = Pᵀ dO, dP = dO Vᵀ, dS = P ∘ (dP − rowsum(dO ∘ O)) / √d, dQ = dS K, dK = dSᵀ Q.
template <typename T>
struct AttentionBackward {
  AttentionLayout at;
  const MatrixProduct& library;
  const T *qkv, *out, *log_sum_exp, *dout;
  T* dqkv;

  /// Turns scores into P and dP into dS, row by row; row i of the tile sees keys 0 … rows.begin + i.
  void score_gradients(std::int64_t seq, std::int64_t head, Range rows, T* p, T* dp) const {
    const Loops<T>& loop = loops<T>();
    const T scale = score_scale<T>(at);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      T* p_row = p + (row - rows.begin) * rows.end;
      T* dp_row = dp + (row - rows.begin) * rows.end;
      const std::int64_t o = at.out(seq, row, head);
      loop.exp_in_place(row + 1, scale, log_sum_exp[at.log_sum_exp(seq, row, head)], p_row);
      loop.score_gradient(row + 1, scale, loop.dot(at.dim, dout + o, out + o), p_row, dp_row);
      std::fill(p_row + row + 1, p_row + rows.end, T(0));
      std::fill(dp_row + row + 1, dp_row + rows.end, T(0));
    }
  }

  /// rows × keys: a tile's rows times all keys (or values) up to the tile's end, transposed.
  void times_keys(Range rows, const T* a, std::int64_t a_stride, const T* keys, T* c) const {
    library.multiply(Product<T>{.rows = rows.size(),
                                .columns = rows.end,
                                .depth = at.dim,
                                .a = {a, a_stride, false},
                                .b = {keys, at.qkv_width, true},
                                .c = c,
                                .c_stride = rows.end});
  }

  /// keys × head: adds scoresᵀ times the tile's rows to the gradient of all keys (or values) up to the tile's end.
  void add_to_keys(Range rows, const T* scores, const T* b, std::int64_t b_stride, T* c) const {
    library.multiply(Product<T>{.rows = rows.end,
                                .columns = at.dim,
                                .depth = rows.size(),
                                .a = {scores, rows.end, true},
                                .b = {b, b_stride, false},
                                .c = c,
                                .c_stride = at.qkv_width,
                                .adds = true});
  }

  void tile(std::int64_t seq, std::int64_t head, Range rows, T* p, T* dp) const {
    const std::int64_t key = at.key(seq, head / at.group), value = at.value(seq, head / at.group);
    const std::int64_t query = at.query(seq, rows.begin, head), o = at.out(seq, rows.begin, head);
    times_keys(rows, qkv + query, at.qkv_width, qkv + key, p);
    times_keys(rows, dout + o, at.out_width, qkv + value, dp);
    score_gradients(seq, head, rows, p, dp);
    add_to_keys(rows, p, dout + o, at.out_width, dqkv + value);
    add_to_keys(rows, dp, qkv + query, at.qkv_width, dqkv + key);
    library.multiply(Product<T>{.rows = rows.size(),
                                .columns = at.dim,
                                .depth = rows.end,
                                .a = {dp, rows.end, false},
                                .b = {qkv + key, at.qkv_width, false},
                                .c = dqkv + query,
                                .c_stride = at.qkv_width});
  }

  /// Everything that one key and value head of one sequence touches, its query heads and their tiles in order.
  void kv_head(std::int64_t seq, std::int64_t kv, T* scratch) const {
    for (std::int64_t row = 0; row < at.sequence; ++row) {
      T* key = dqkv + at.key(seq, kv) + row * at.qkv_width;
      T* value = dqkv + at.value(seq, kv) + row * at.qkv_width;
      std::fill(key, key + at.dim, T(0));
      std::fill(value, value + at.dim, T(0));
    }
    for (std::int64_t head = kv * at.group; head < (kv + 1) * at.group; ++head) {
      for (std::int64_t i = 0; i < range_count(at.sequence, kAttentionRows); ++i) {
        tile(seq, head, range_at(i, at.sequence, kAttentionRows), scratch, scratch + kAttentionRows * at.sequence);
      }
    }
  }
};

}  // namespace

template <typename T>
void attention_backward(const OpShape& s, Operands operands, const LaunchContext& context) {
  const AttentionBackward<T> kernel{.at = AttentionLayout(s),
                                    .library = *context.product,
                                    .qkv = array<T>(operands, 0),
                                    .out = array<T>(operands, 1),
                                    .log_sum_exp = array<T>(operands, 2),
                                    .dout = array<T>(operands, 3),
                                    .dqkv = array<T>(operands, 4)};
  T* workspace = array<T>(operands, 5);
  const std::int64_t slice = 2 * kAttentionRows * s.sequence;
  context.pool->run(
      tasks_of(OpKind::kAttentionBackward, s),
      [&](std::int64_t task, std::int64_t worker) {
        kernel.kv_head(task / s.kv_heads, task % s.kv_heads, workspace + worker * slice);
      },
      slices<T>(operands[5], slice));
}

PLIMSOLL_INSTANTIATE_KERNEL(attention_backward);

}  // namespace plimsoll::kernels
