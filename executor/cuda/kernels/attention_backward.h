#pragma once

#include <cmath>

#include "executor/cuda/kernels/attention_tiles.h"
#include "executor/cuda/kernels/pack.h"

// With P = softmax of the scaled scores S = q kᵀ (Dao 2023, FlashAttention-2, algorithm 2):
// dV = Pᵀ dO, dP = dO Vᵀ, dS = P ∘ (dP − rowsum(dO ∘ O)) / √d, dQ = dS K, dK = dSᵀ Q. Keys and queries are taken by programs
// of their own, which recompute P: no sum crosses blocks, so every order of blocks gives the same bits.
namespace plimsoll::cuda {

template <typename S>
struct AttentionBackwardArgs {
  AttentionSizes at;
  const S *qkv, *out;
  const float* log_sum_exp;
  const S* dout;
  S* dqkv;
  float* dots;  ///< rowsum(dO ∘ O) of each row and head
  bool packed;  ///< the rows of out and dout
};

/// rowsum(dO ∘ O): each row's heads by kLanes threads a head, which take packs in turn.
template <typename S>
struct OutputDots {
  static constexpr int kThreads = 256, kLanes = 8, kHeads = kThreads / kLanes;
  using Args = AttentionBackwardArgs<S>;
  struct Shared {};

  static Index heads(const Args& args) { return args.at.sequences * args.at.sequence * args.at.heads; }
  static Index blocks(const Args& args) { return parts_of(heads(args), kHeads); }

  template <typename Block>
  PLIMSOLL_DEVICE static void run(const Block& block, Shared&, const Args& a) {
    const Index head = block.index() * kHeads + block.thread() / kLanes, begin = head * a.at.dim;
    const int lane = block.thread() % kLanes;
    const bool there = head < a.at.sequences * a.at.sequence * a.at.heads;
    float sum = 0, d[kPack], out[kPack];
    for (Index k = lane * kPack; there && k < a.at.dim; k += kLanes * kPack) {
      load_pack(block, d, a.dout + begin, k, a.at.dim, a.packed);
      load_pack(block, out, a.out + begin, k, a.at.dim, a.packed);
      for (int e = 0; e < kPack; ++e) sum += d[e] * out[e];
    }
    for (int bits = kLanes / 2; bits > 0; bits /= 2) sum += block.from_lane(sum, bits);
    if (there && lane == 0) a.dots[head] = sum;
  }
};

struct AttentionBackwardShared {
  AttentionTile::Rows first, second, passing;
  AttentionTile::Scores p, ds;
};

/// dK and dV of a tile of keys of one key and value head, over its query heads and their tiles in order.
template <typename S>
struct AttentionKeyGradients : AttentionTile {
  using Args = AttentionBackwardArgs<S>;
  using Shared = AttentionBackwardShared;

  static Index blocks(const Args& args) {
    return args.at.sequences * args.at.kv_heads * parts_of(args.at.sequence, kRows);
  }

  template <typename Block>
  PLIMSOLL_DEVICE static void run(const Block& block, Shared& shared, const Args& a) {
    const AttentionSizes& at = a.at;
    const Index kv_heads = at.sequences * at.kv_heads, first = block.index() / kv_heads * kRows;
    const Index seq = block.index() % kv_heads / at.kv_heads, kv = block.index() % at.kv_heads;
    const int thread = block.thread(), own_row = thread / kLanes, lane = thread % kLanes;
    const Index keys = at.in_qkv(seq, 0, at.heads + kv), values = keys + at.kv_heads * at.dim, group = at.heads / at.kv_heads;
    fetch_rows(thread, a.qkv + keys, at.qkv_width(), first, at.sequence, at.dim, shared.first);
    fetch_rows(thread, a.qkv + values, at.qkv_width(), first, at.sequence, at.dim, shared.second);
    float dk[kOwn] = {}, dv[kOwn] = {};
    const Index from = at.causal ? first : 0;  // no earlier query sees these keys
    for (Index head = kv * group; head < (kv + 1) * group; ++head) {
      for (Index query = from; query < at.sequence; query += kRows) {
        tile(block, shared, a, {seq, head, query, first + own_row}, lane, dk, dv);
      }
    }
    const Index row = first + own_row;
    for (int j = 0; j < kOwn; ++j) {
      const Index column = lane + kLanes * j;
      if (row >= at.sequence || column >= at.dim) continue;
      put(a.dqkv[keys + row * at.qkv_width() + column], dk[j]);
      put(a.dqkv[values + row * at.qkv_width() + column], dv[j]);
    }
  }

 private:
  struct Place {
    Index seq, head, query, key;
  };

  /// A tile of queries against the block's keys: scores lie [key][query].
  template <typename Block>
  PLIMSOLL_DEVICE static void tile(const Block& block, Shared& shared, const Args& a, const Place& place, int lane, float* dk,
                                   float* dv) {
    const AttentionSizes& at = a.at;
    const int thread = block.thread(), own_row = thread / kLanes;
    const S* queries = a.qkv + at.in_qkv(place.seq, 0, place.head);
    block.sync();  // the last tile's queries are done with
    fetch_rows(thread, queries, at.qkv_width(), place.query, at.sequence, at.dim, shared.passing);
    block.sync();
    float dots[kScores];
    dot_with_rows(shared.first[own_row], shared.passing, lane, at.dim, dots);
    for (int j = 0; j < kScores; ++j) {
      const int c = lane + kLanes * j;
      const Index row = place.query + c;
      const bool sees = row < at.sequence && place.key < at.seen(place.seq, row);
      shared.p[own_row][c] = sees ? std::exp(at.scale * dots[j] - a.log_sum_exp[at.of_row(place.seq, row, place.head)]) : 0;
    }
    block.sync();
    fetch_rows(thread, a.dout + at.in_out(place.seq, 0, place.head), at.heads * at.dim, place.query, at.sequence, at.dim,
               shared.passing);
    block.sync();
    dot_with_rows(shared.second[own_row], shared.passing, lane, at.dim, dots);
    for (int j = 0; j < kScores; ++j) {
      const int c = lane + kLanes * j;
      const Index row = place.query + c;
      const float p = shared.p[own_row][c];
      shared.ds[own_row][c] = p == 0 ? 0 : p * (dots[j] - a.dots[at.of_row(place.seq, row, place.head)]) * at.scale;
    }
    add_weighted(shared.p[own_row], shared.passing, lane, at.dim, dv);
    block.sync();
    fetch_rows(thread, queries, at.qkv_width(), place.query, at.sequence, at.dim, shared.passing);
    block.sync();
    add_weighted(shared.ds[own_row], shared.passing, lane, at.dim, dk);
  }
};

/// dQ of a tile of queries of one head, over its tiles of keys in order.
template <typename S>
struct AttentionQueryGradients : AttentionTile {
  using Args = AttentionBackwardArgs<S>;
  using Shared = AttentionBackwardShared;

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
    const Index queries = at.in_qkv(seq, 0, head);
    const S* keys = a.qkv + at.in_qkv(seq, 0, at.heads + head / (at.heads / at.kv_heads));
    const S* values = keys + at.kv_heads * at.dim;
    fetch_rows(thread, a.qkv + queries, at.qkv_width(), first, at.sequence, at.dim, shared.first);
    fetch_rows(thread, a.dout + at.in_out(seq, 0, head), at.heads * at.dim, first, at.sequence, at.dim, shared.second);
    const Index row = first + own_row, last = (first + kRows < at.sequence ? first + kRows : at.sequence) - 1;
    const Index inside = row < last ? row : last, seen = at.seen(seq, inside), end = at.seen(seq, last);
    const float shift = a.log_sum_exp[at.of_row(seq, inside, head)], own_dot = a.dots[at.of_row(seq, inside, head)];
    float dq[kOwn] = {};
    for (Index key = 0; key < end; key += kRows) {
      block.sync();  // the last tile's keys are done with
      fetch_rows(thread, keys, at.qkv_width(), key, at.sequence, at.dim, shared.passing);
      block.sync();
      float dots[kScores];
      dot_with_rows(shared.first[own_row], shared.passing, lane, at.dim, dots);
      for (int j = 0; j < kScores; ++j) {
        const int c = lane + kLanes * j;
        shared.p[own_row][c] = key + c < seen ? std::exp(at.scale * dots[j] - shift) : 0;
      }
      block.sync();
      fetch_rows(thread, values, at.qkv_width(), key, at.sequence, at.dim, shared.passing);
      block.sync();
      dot_with_rows(shared.second[own_row], shared.passing, lane, at.dim, dots);
      for (int j = 0; j < kScores; ++j) {
        const int c = lane + kLanes * j;
        shared.ds[own_row][c] = shared.p[own_row][c] * (dots[j] - own_dot) * at.scale;
      }
      block.sync();
      fetch_rows(thread, keys, at.qkv_width(), key, at.sequence, at.dim, shared.passing);
      block.sync();
      add_weighted(shared.ds[own_row], shared.passing, lane, at.dim, dq);
    }
    if (row >= at.sequence) return;
    for (int j = 0; j < kOwn; ++j) {
      const Index column = lane + kLanes * j;
      if (column < at.dim) put(a.dqkv[queries + row * at.qkv_width() + column], dq[j]);
    }
  }
};

}  // namespace plimsoll::cuda
