#pragma once

#include "executor/cuda/kernels/scalar.h"

namespace plimsoll::cuda {

/// Sizes of one attention launch. A row of qkv is [query heads | key heads | value heads].
struct AttentionSizes {
  Index sequences, sequence, heads, kv_heads, dim;
  bool causal;
  const std::int32_t* extents;  ///< [sequence][tokens, …]; null: all sequences are whole
  float scale;

  PLIMSOLL_DEVICE Index qkv_width() const { return (heads + 2 * kv_heads) * dim; }
  /// Where the `head`-th of a row's heads (queries, keys, values) begins.
  PLIMSOLL_DEVICE Index in_qkv(Index seq, Index row, Index head) const {
    return (seq * sequence + row) * qkv_width() + head * dim;
  }
  PLIMSOLL_DEVICE Index in_out(Index seq, Index row, Index head) const {
    return ((seq * sequence + row) * heads + head) * dim;
  }
  PLIMSOLL_DEVICE Index of_row(Index seq, Index row, Index head) const { return (seq * sequence + row) * heads + head; }
  /// Keys that the query of a row sees, from the first on. What no batch has written yet stands for a whole sequence.
  PLIMSOLL_DEVICE Index seen(Index seq, Index row) const {
    if (causal) return row + 1;
    const Index stated = extents == nullptr ? sequence : extents[2 * seq];
    return stated > 0 && stated < sequence ? stated : sequence;
  }
};

/// Tiles of kRows queries or keys; kLanes threads share a row.
struct AttentionTile {
  static constexpr int kRows = 32, kLanes = 8, kThreads = kRows * kLanes;
  static constexpr int kMostDim = 128;
  static constexpr int kOwn = kMostDim / kLanes;   ///< elements of a row that a thread owns, kLanes apart
  static constexpr int kScores = kRows / kLanes;   ///< scores of a row that a thread owns, kLanes apart
  using Rows = float[kRows][kMostDim + 1];
  using Scores = float[kRows][kRows + 1];
};

/// Rows [first, first + kRows) into shared memory; those from `end` on are 0.
template <typename S>
PLIMSOLL_DEVICE void fetch_rows(int thread, const S* from, Index stride, Index first, Index end, Index dim,
                                AttentionTile::Rows& to) {
  const int width = static_cast<int>(dim);  // divisions of 64 bits are slow on the device
  for (int e = thread; e < AttentionTile::kRows * width; e += AttentionTile::kThreads) {
    const int row = e / width, column = e % width;
    to[row][column] = first + row < end ? wide(from[(first + row) * stride + column]) : 0;
  }
}

/// dots[j] = own · rows[lane + kLanes j]: an element of `own` is read once for all of them.
PLIMSOLL_DEVICE inline void dot_with_rows(const float* own, const AttentionTile::Rows& rows, int lane, Index dim, float* dots) {
  for (int j = 0; j < AttentionTile::kScores; ++j) dots[j] = 0;
  for (Index i = 0; i < dim; ++i) {
    const float element = own[i];
    for (int j = 0; j < AttentionTile::kScores; ++j) dots[j] += element * rows[lane + AttentionTile::kLanes * j][i];
  }
}

/// own[j] += Σ over the tile's rows r of factors[r] · rows[r][lane + kLanes j].
PLIMSOLL_DEVICE inline void add_weighted(const float* factors, const AttentionTile::Rows& rows, int lane, Index dim, float* own) {
  for (int r = 0; r < AttentionTile::kRows; ++r) {
    const float factor = factors[r];
    for (int j = 0; j < AttentionTile::kOwn; ++j) {
      const int column = lane + AttentionTile::kLanes * j;
      if (column < dim) own[j] += factor * rows[r][column];
    }
  }
}

}  // namespace plimsoll::cuda
