#include <array>
#include <cmath>

#include "core/graph/op_tasks.h"
#include "core/graph/op_work.h"
#include "executor/kernels/attention_layout.h"
#include "executor/kernels/kernels.h"
#include "executor/kernels/loops.h"
#include "executor/kernels/matrix_product.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::kernels {
namespace {

template <typename T>
struct Attention {
  AttentionLayout at;
  const MatrixProduct& library;
  const T* qkv;
  T *out, *log_sum_exp;

  /// softmax of the tile's scores, row by row and unnormalised; row i of the tile sees keys 0 … rows.begin + i. Returns
  /// the reciprocal sums through `inverse`.
  void soften(std::int64_t seq, std::int64_t head, Range rows, T* scores, T* inverse) const {
    const Loops<T>& loop = loops<T>();
    const T scale = score_scale<T>(at);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      T* score = scores + (row - rows.begin) * rows.end;
      const T most = scale * loop.largest(row + 1, score);
      const T sum = loop.exp_in_place(row + 1, scale, most, score);
      std::fill(score + row + 1, score + rows.end, T(0));
      log_sum_exp[at.log_sum_exp(seq, row, head)] = most + std::log(sum);
      inverse[row - rows.begin] = 1 / sum;
    }
  }

  /// One tile of queries of one head: scores, softmax, weighted sum of the values.
  void tile(std::int64_t seq, std::int64_t head, Range rows, T* scores) const {
    const std::int64_t kv_head = head / at.group;
    library.multiply(Product<T>{.rows = rows.size(),
                                .columns = rows.end,
                                .depth = at.dim,
                                .a = {qkv + at.query(seq, rows.begin, head), at.qkv_width, false},
                                .b = {qkv + at.key(seq, kv_head), at.qkv_width, true},
                                .c = scores,
                                .c_stride = rows.end});
    std::array<T, kAttentionRows> inverse;
    soften(seq, head, rows, scores, inverse.data());
    T* y = out + at.out(seq, rows.begin, head);
    library.multiply(Product<T>{.rows = rows.size(),
                                .columns = at.dim,
                                .depth = rows.end,
                                .a = {scores, rows.end, false},
                                .b = {qkv + at.value(seq, kv_head), at.qkv_width, false},
                                .c = y,
                                .c_stride = at.out_width});
    for (std::int64_t i = 0; i < rows.size(); ++i) {
      loops<T>().scale(at.dim, inverse[static_cast<std::size_t>(i)], y + i * at.out_width);
    }
  }
};

}  // namespace

template <typename T>
void attention(const OpShape& s, Operands operands, const LaunchContext& context) {
  const Attention<T> kernel{.at = AttentionLayout(s),
                            .library = *context.product,
                            .qkv = array<T>(operands, 0),
                            .out = array<T>(operands, 1),
                            .log_sum_exp = array<T>(operands, 2)};
  T* workspace = array<T>(operands, 3);
  const std::int64_t slice = kAttentionRows * s.sequence;
  const std::int64_t tiles = range_count(s.sequence, kAttentionRows);
  const std::int64_t heads = kernel.at.sequences * s.heads;
  context.pool->run(
      tasks_of(OpKind::kAttention, s),
      [&](std::int64_t task, std::int64_t worker) {
        const std::int64_t tile =
            tiles - 1 - task / heads;  // the longest first, so that no worker waits for one at the end
        const std::int64_t head = task % heads;
        kernel.tile(head / s.heads, head % s.heads, range_at(tile, s.sequence, kAttentionRows),
                    workspace + worker * slice);
      },
      slices<T>(operands[3], slice));
}

PLIMSOLL_INSTANTIATE_KERNEL(attention);

}  // namespace plimsoll::kernels
