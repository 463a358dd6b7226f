#pragma once

#include <cmath>

#include "executor/cuda/kernels/attention_tiles.h"

namespace plimsoll::cuda {

/// softmax(q kᵀ / √d) v by tiles with running maxima (Dao 2023, FlashAttention-2, algorithm 1): a block has a tile of queries of
/// one head.
template <typename S>
struct AttentionForward : AttentionTile {
  struct Args {
    AttentionSizes at;
    const S* qkv;
    S* out;
    float* log_sum_exp;
  };
  struct Shared {
    Rows queries, keys;
    Scores scores;
  };

  static Index blocks(const Args& args) {
    return args.at.sequences * args.at.heads * parts_of(args.at.sequence, kRows);
  }

  template <typename Block>
  PLIMSOLL_DEVICE static void run(const Block& block, Shared& shared, const Args& a) {
    const AttentionSizes& at = a.at;
    const Index tiles = parts_of(at.sequence, kRows), all_heads = at.sequences * at.heads;
    const Index first = (tiles - 1 - block.index() / all_heads) * kRows;  // the longest first
    const Index seq = block.index() % all_heads / at.heads, head = block.index() % at.heads;
    const int thread = block.thread(), own_row = thread / kLanes, lane = thread % kLanes;
    const S* of_keys = a.qkv + at.in_qkv(seq, 0, at.heads + head / (at.heads / at.kv_heads));
    const S* of_values = of_keys + at.kv_heads * at.dim;
    fetch_rows(thread, a.qkv + at.in_qkv(seq, 0, head), at.qkv_width(), first, at.sequence, at.dim, shared.queries);
    const Index row = first + own_row, last = (first + kRows < at.sequence ? first + kRows : at.sequence) - 1;
    const Index seen = at.seen(seq, row < last ? row : last), end = at.seen(seq, last);
    float most = -INFINITY, sum = 0, own[kOwn] = {};
    for (Index key = 0; key < end; key += kRows) {
      fetch_rows(thread, of_keys, at.qkv_width(), key, at.sequence, at.dim, shared.keys);
      block.sync();
      float dots[kScores];
      dot_with_rows(shared.queries[own_row], shared.keys, lane, at.dim, dots);
      for (int j = 0; j < kScores; ++j) {
        const int c = lane + kLanes * j;
        shared.scores[own_row][c] = key + c < seen ? at.scale * dots[j] : -INFINITY;
      }
      block.sync();
      fetch_rows(thread, of_values, at.qkv_width(), key, at.sequence, at.dim, shared.keys);
      float next = most;
      for (int c = 0; c < kRows; ++c) next = shared.scores[own_row][c] > next ? shared.scores[own_row][c] : next;
      block.sync();
      for (int j = 0; j < kScores; ++j) {
        float& score = shared.scores[own_row][lane + kLanes * j];
        score = std::exp(score - next);
      }
      block.sync();
      const float kept = std::exp(most - next);
      sum *= kept;
      for (int c = 0; c < kRows; ++c) sum += shared.scores[own_row][c];
      for (int j = 0; j < kOwn; ++j) own[j] *= kept;
      add_weighted(shared.scores[own_row], shared.keys, lane, at.dim, own);
      most = next;
      block.sync();
    }
    if (row >= at.sequence) return;
    S* out = a.out + at.in_out(seq, row, head);
    for (int j = 0; j < kOwn; ++j) {
      if (lane + kLanes * j < at.dim) put(out[lane + kLanes * j], own[j] / sum);
    }
    if (lane == 0) a.log_sum_exp[at.of_row(seq, row, head)] = most + std::log(sum);
  }
};

}  // namespace plimsoll::cuda
