#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/graph/op.h"
#include "executor/kernels/launch.h"
#include "executor/kernels/matrix_product.h"
#include "executor/kernels/storage.h"

namespace plimsoll::kernels {

/// Sizes and strides of one attention launch; a row of qkv is [query heads | key heads | value heads].
struct AttentionLayout {
  /// Of queries in rows of their own, to all keys of sequences of `inputs` tokens; scores have no factor, as those of
  /// T5.
  static AttentionLayout cross(const OpShape& s) {
    AttentionLayout at(s, true);
    at.qkv_width = at.out_width;
    at.key_rows = s.inputs;
    at.scale = 1;
    return at;
  }
  /// Of scores to which a bias is added in place of a factor.
  static AttentionLayout biased(const OpShape& s) {
    AttentionLayout at(s);
    at.scale = 1;
    return at;
  }

  /// Of keys and values in the rows of qkv, or `apart` in rows of their own.
  explicit AttentionLayout(const OpShape& s, bool apart = false)
      : sequence(s.sequence),
        heads(s.heads),
        kv_heads(s.kv_heads),
        dim(s.head_dim),
        group(s.heads / s.kv_heads),
        sequences(s.rows / s.sequence),
        qkv_width((s.heads + 2 * s.kv_heads) * s.head_dim),
        key_width(apart ? 2 * s.kv_heads * s.head_dim : qkv_width),
        first_key(apart ? 0 : heads * dim),
        out_width(s.heads * s.head_dim),
        key_rows(s.sequence),
        scale(1 / std::sqrt(static_cast<double>(s.head_dim))) {}

  [[nodiscard]] std::int64_t query(std::int64_t seq, std::int64_t row, std::int64_t head) const {
    return (seq * sequence + row) * qkv_width + head * dim;
  }
  [[nodiscard]] std::int64_t key(std::int64_t seq, std::int64_t kv_head) const {
    return seq * key_rows * key_width + first_key + kv_head * dim;
  }
  [[nodiscard]] std::int64_t value(std::int64_t seq, std::int64_t kv_head) const {
    return key(seq, kv_heads + kv_head);
  }
  [[nodiscard]] std::int64_t out(std::int64_t seq, std::int64_t row, std::int64_t head) const {
    return (seq * sequence + row) * out_width + head * dim;
  }
  /// Log-sum-exps are [row, head].
  [[nodiscard]] std::int64_t log_sum_exp(std::int64_t seq, std::int64_t row, std::int64_t head) const {
    return (seq * sequence + row) * heads + head;
  }

  /// Of a bias of distances, the number that a head adds for the first key of its sequence; the other keys' follow.
  [[nodiscard]] std::int64_t bias(std::int64_t row, std::int64_t head) const {
    return head * distance_count(sequence) + sequence - 1 - row;
  }

  std::int64_t sequence, heads, kv_heads, dim, group, sequences, qkv_width, key_width, first_key, out_width;
  std::int64_t key_rows;  ///< of a sequence
  double scale;           ///< of the scores
};

/// How many workers' scratch of `slice` elements fits the workspace.
template <typename T>
std::int64_t slices(const OperandView& workspace, std::int64_t slice) {
  return std::max<std::int64_t>(1, workspace.bytes.count / (slice * static_cast<std::int64_t>(sizeof(T))));
}

/// A row-major matrix to multiply with: where it is, or widened into `scratch` row behind row.
template <typename S>
MatrixView<Arithmetic<S>> wide_matrix(const S* from, std::int64_t stride, std::int64_t rows, std::int64_t columns,
                                      [[maybe_unused]] Arithmetic<S>* scratch) {
  if constexpr (kIsHalf<S>) {
    for (std::int64_t row = 0; row < rows; ++row) widen_into(columns, from + row * stride, scratch + row * columns);
    return {scratch, columns, false};
  } else {
    return {from, stride, false};
  }
}

template <typename T>
MatrixView<T> transposed(MatrixView<T> view) {
  view.transposed = !view.transposed;
  return view;
}

}  // namespace plimsoll::kernels
