#pragma once

#include "executor/cuda/kernels/attention_tiles.h"
#include "executor/cuda/kernels/matrix_units.h"

namespace plimsoll::cuda {

/// Rows of one head's queries, keys, values or outputs, all of a sequence.
template <typename S>
struct HeadRows {
  const S* first;
  Index stride, end, dim;
};

/// A block's tile of kRows queries of one head, from `first` to `last`, and what they attend to. The longest come
/// first.
template <typename S>
struct QueryTile {
  Index first, last, seq, head;
  HeadRows<S> queries, keys, values;

  PLIMSOLL_DEVICE QueryTile(const AttentionSizes& at, const S* qkv, Index block, int rows)
      : first((parts_of(at.sequence, rows) - 1 - block / (at.sequences * at.heads)) * rows),
        last((first + rows < at.sequence ? first + rows : at.sequence) - 1),
        seq(block % (at.sequences * at.heads) / at.heads),
        head(block % at.heads),
        queries{qkv + at.in_qkv(seq, 0, head), at.qkv_width(), at.sequence, at.dim},
        keys{qkv + at.in_qkv(seq, 0, at.heads + head / (at.heads / at.kv_heads)), at.qkv_width(), at.sequence, at.dim},
        values{keys.first + at.kv_heads * at.dim, at.qkv_width(), at.sequence, at.dim} {}
};

/// Tiles of attention by matrix units, for heads of up to kDim elements: a warp has 16 of the block's kRows rows, as
/// left operands, and meets kPassing rows of the other side at a time, two matrices of them (a stage), which come while
/// the last are worked on.
template <typename S, int kDim, int kPassingRows>
struct MatrixTiles {
  static constexpr int kRows = 64, kWarpRows = 16, kThreads = kRows / kWarpRows * 32;
  static constexpr int kPassing = kPassingRows;
  static constexpr int kWidth = kDim + 8;  ///< so eight rows' parts that are loaded at once lie in different banks
  static constexpr int kStage = 2 * kPassing * kWidth;
  static_assert(kRows <= 2 * kPassing && kDim % 16 == 0);
  using MatrixElement = S;
  using Stage = S[kStage];
  using Left = Word[kDim / 16][4];    ///< a warp's own rows
  using Scores = Sums[kPassing / 8];  ///< of own rows and passing ones
  using Gathered = Sums[kDim / 8];    ///< of own rows and a head's elements

  /// The first own row of this thread's warp; its own are that and the eighth after it, `row` further on.
  template <typename Block>
  PLIMSOLL_DEVICE static int warp_row(const Block& block) {
    return block.thread() / 32 * kWarpRows;
  }

  /// Begins to bring kCount rows from `first` on; what is beyond the sequence or the head is zeros.
  template <int kCount, typename Block>
  PLIMSOLL_DEVICE static void fetch(const Block& block, const HeadRows<S>& from, Index first, S* to) {
    constexpr int kPart = 16 / sizeof(S), kParts = kDim / kPart;
    for (int e = block.thread(); e < kCount * kParts; e += kThreads) {
      const int row = e / kParts, column = e % kParts * kPart;
      const bool there = first + row < from.end && column < from.dim;
      block.fetch(to + row * kWidth + column, from.first + (there ? (first + row) * from.stride + column : 0), there);
    }
  }

  /// Begins to bring a stage: kPassing rows of two matrices.
  template <typename Block>
  PLIMSOLL_DEVICE static void fetch_stage(const Block& block, const HeadRows<S>& one, const HeadRows<S>& other,
                                          Index first, Stage& stage) {
    fetch<kPassing>(block, one, first, stage);
    fetch<kPassing>(block, other, first, stage + kStage / 2);
  }

  /// A block's own rows, by way of a stage that is free again afterwards. All threads must come here.
  template <typename Block>
  PLIMSOLL_DEVICE static void load_own(const Block& block, const HeadRows<S>& from, Index first, Stage& stage,
                                       Left& left) {
    const WarpPlace lane(block.thread() % 32);
    fetch<kRows>(block, from, first, stage);
    block.await();
    block.sync();
    const S* row = stage + (warp_row(block) + lane.left) * kWidth + lane.ahead;
    PLIMSOLL_UNROLL
    for (int k = 0; k < kDim / 16; ++k) block.load(left[k], row + 16 * k);
    block.sync();
  }

  /// scores = own rows · passing rows.
  template <typename Block>
  PLIMSOLL_DEVICE static void dot_with_rows(const Block& block, const Left& left, const S* rows, Scores& scores) {
    const WarpPlace lane(block.thread() % 32);
    const S* row = rows + lane.right * kWidth + lane.along;
    PLIMSOLL_UNROLL
    for (int n = 0; n < kPassing / 8; ++n) {
      for (int i = 0; i < 4; ++i) scores[n][i] = 0;
    }
    PLIMSOLL_UNROLL
    for (int k = 0; k < kDim / 16; ++k) {
      PLIMSOLL_UNROLL
      for (int n = 0; n < kPassing / 8; n += 2) {
        Word right[4];
        block.load(right, row + 8 * n * kWidth + 16 * k);
        block.multiply(S(), scores[n], left[k], right);
        block.multiply(S(), scores[n + 1], left[k], right + 2);
      }
    }
  }

  /// own += Σ of the passing rows, each by its factor, rounded to S.
  template <typename Block>
  PLIMSOLL_DEVICE static void add_weighted(const Block& block, const Scores& factors, const S* rows, Gathered& own) {
    const WarpPlace lane(block.thread() % 32);
    const S* row = rows + lane.left * kWidth + lane.ahead;
    PLIMSOLL_UNROLL
    for (int k = 0; k < kPassing / 16; ++k) {
      Word left[4];
      pack_left(block, S(), factors + 2 * k, left);
      PLIMSOLL_UNROLL
      for (int n = 0; n < kDim / 8; n += 2) {
        Word right[4];
        block.load_turned(right, row + 16 * k * kWidth + 8 * n);
        block.multiply(S(), own[n], left, right);
        block.multiply(S(), own[n + 1], left, right + 2);
      }
    }
  }

  /// Stores what was gathered for one of this thread's two rows (0 or 1), times a factor.
  template <typename Block>
  PLIMSOLL_DEVICE static void store_row(const Block& block, const Gathered& own, int which, float factor, Index dim,
                                        S* to) {
    const WarpPlace lane(block.thread() % 32);
    PLIMSOLL_UNROLL
    for (int n = 0; n < kDim / 8; ++n) {
      if (8 * n >= dim) continue;
      block.put_pair(to + 8 * n + lane.pair, factor * own[n][2 * which], factor * own[n][2 * which + 1]);
    }
  }
};

}  // namespace plimsoll::cuda
