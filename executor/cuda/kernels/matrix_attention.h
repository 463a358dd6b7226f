#pragma once

#include <cmath>

#include "executor/cuda/kernels/attention.h"
#include "executor/cuda/kernels/matrix_tiles.h"

namespace plimsoll::cuda {

/// AttentionForward by matrix units: the weights are rounded to S before they multiply the values, the sums are fp32.
template <typename S, int kDim>
struct MatrixAttentionForward : MatrixTiles<S, kDim, kDim <= 64 ? 64 : 32> {
  using Tiles = MatrixTiles<S, kDim, kDim <= 64 ? 64 : 32>;
  using Tiles::kPassing, Tiles::kRows;
  using Args = typename AttentionForward<S>::Args;
  struct Shared {
    alignas(16) typename Tiles::Stage stages[2];  ///< keys, then values
  };

  static Index blocks(const Args& args) {
    return args.at.sequences * args.at.heads * parts_of(args.at.sequence, kRows);
  }

  template <typename Block>
  PLIMSOLL_DEVICE static void run(const Block& block, Shared& shared, const Args& a) {
    const AttentionSizes& at = a.at;
    const QueryTile<S> tile(at, a.qkv, block.index(), kRows);
    typename Tiles::Left left;
    Tiles::load_own(block, tile.queries, tile.first, shared.stages[0], left);
    const WarpPlace lane(block.thread() % 32);
    const Index row = tile.first + Tiles::warp_row(block) + lane.row, end = at.seen(tile.seq, tile.last);
    Rows own;
    for (int which = 0; which < 2; ++which) {
      const Index inside = row + 8 * which < tile.last ? row + 8 * which : tile.last;
      own.seen[which] = static_cast<int>(at.seen(tile.seq, inside)) - lane.pair;
    }
    Tiles::fetch_stage(block, tile.keys, tile.values, 0, shared.stages[0]);
    for (int key = 0, now = 0; key < end; key += kPassing, now = 1 - now) {
      block.await();
      block.sync();  // these have come, and the stage before them is done with
      if (key + kPassing < end)
        Tiles::fetch_stage(block, tile.keys, tile.values, key + kPassing, shared.stages[1 - now]);
      typename Tiles::Scores scores;
      Tiles::dot_with_rows(block, left, shared.stages[now], scores);
      for (int which = 0; which < 2; ++which) own.weigh(block, which, key, at.scale * kLog2E, scores);
      Tiles::add_weighted(block, scores, shared.stages[now] + Tiles::kStage / 2, own.out);
    }
    for (int which = 0; which < 2; ++which) finish(block, a, own, which, {tile.seq, row + 8 * which, tile.head});
  }

 private:
  /// A thread's two rows: its part of what they gather and of the sum of the weights, and the largest score so far.
  struct Rows {
    int seen[2];  ///< keys, counted from the thread's first column
    float most[2] = {-INFINITY, -INFINITY}, sum[2] = {};
    typename Tiles::Gathered out = {};

    /// Makes weights of a row's scores of the keys from `key` on, and what was gathered comparable.
    template <typename Block>
    PLIMSOLL_DEVICE void weigh(const Block& block, int which, int key, float scale, typename Tiles::Scores& scores) {
      hide_from(seen[which] - key, which, scores);
      float next = most[which];
      PLIMSOLL_UNROLL
      for (int c = 0; c < kPassing / 4; ++c) next = Larger()(next, scores[c / 2][2 * which + c % 2]);
      next = join_row(block, next, Larger());
      const float kept = block.exp2((most[which] - next) * scale), shift = next * scale;
      most[which] = next;
      sum[which] *= kept;
      PLIMSOLL_UNROLL
      for (int c = 0; c < kPassing / 4; ++c) {
        float& score = scores[c / 2][2 * which + c % 2];
        score = block.exp2(score * scale - shift);
        sum[which] += score;
      }
      PLIMSOLL_UNROLL
      for (int c = 0; c < kDim / 4; ++c) out[c / 2][2 * which + c % 2] *= kept;
    }

    /// Only the first `seen` keys count.
    PLIMSOLL_DEVICE static void hide_from(int seen, int which, typename Tiles::Scores& scores) {
      if (seen >= kPassing) return;
      PLIMSOLL_UNROLL
      for (int c = 0; c < kPassing / 4; ++c) {
        if (c / 2 * 8 + c % 2 >= seen) scores[c / 2][2 * which + c % 2] = -INFINITY;
      }
    }
  };

  struct Place {
    Index seq, row, head;
  };

  template <typename Block>
  PLIMSOLL_DEVICE static void finish(const Block& block, const Args& a, const Rows& own, int which,
                                     const Place& place) {
    const AttentionSizes& at = a.at;
    const float sum = join_row(block, own.sum[which], Plus());
    if (place.row >= at.sequence) return;
    Tiles::store_row(block, own.out, which, 1 / sum, at.dim, a.out + at.in_out(place.seq, place.row, place.head));
    if (block.thread() % 4 == 0) {
      a.log_sum_exp[at.of_row(place.seq, place.row, place.head)] = own.most[which] * at.scale + std::log(sum);
    }
  }
};

}  // namespace plimsoll::cuda
