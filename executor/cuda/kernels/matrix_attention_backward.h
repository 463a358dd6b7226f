#pragma once

#include "executor/cuda/kernels/attention_backward.h"
#include "executor/cuda/kernels/matrix_attention.h"

// The programs of attention_backward.h by matrix units: P and dS are rounded to S before they multiply, all sums are
// fp32.
namespace plimsoll::cuda {

/// dK and dV of a tile of keys of one key and value head, over its query heads and their tiles in order: what has a row
/// a key here is the transpose of what has a row a query there.
template <typename S, int kDim>
struct MatrixKeyGradients : MatrixTiles<S, kDim, 32> {
  using Tiles = MatrixTiles<S, kDim, 32>;
  using Tiles::kPassing, Tiles::kRows;
  using Args = AttentionBackwardArgs<S>;
  /// Queries, then gradients of outputs, and of each its sum's logarithm and dot.
  struct Stage {
    alignas(16) typename Tiles::Stage rows;
    float log_sums[kPassing], dots[kPassing];
  };
  struct Shared {
    Stage stages[2];
  };

  static Index blocks(const Args& args) {
    return args.at.sequences * args.at.kv_heads * parts_of(args.at.sequence, kRows);
  }

  template <typename Block>
  PLIMSOLL_DEVICE static void run(const Block& block, Shared& shared, const Args& a) {
    const AttentionSizes& at = a.at;
    const Index kv_heads = at.sequences * at.kv_heads, first = block.index() / kv_heads * kRows;
    const Index seq = block.index() % kv_heads / at.kv_heads, kv = block.index() % at.kv_heads;
    const Index keys = at.in_qkv(seq, 0, at.heads + kv), values = keys + at.kv_heads * at.dim;
    Own own{.key = static_cast<int>(first) + Tiles::warp_row(block) + WarpPlace(block.thread() % 32).row,
            .seen = static_cast<int>(at.seen(seq, 0))};
    const HeadRows<S> own_keys{a.qkv + keys, at.qkv_width(), at.sequence, at.dim};
    const HeadRows<S> own_values{a.qkv + values, at.qkv_width(), at.sequence, at.dim};
    Tiles::load_own(block, own_keys, first, shared.stages[0].rows, own.keys);
    Tiles::load_own(block, own_values, first, shared.stages[0].rows, own.values);
    const int group = static_cast<int>(at.heads / at.kv_heads), end = static_cast<int>(kv + 1) * group;
    const int from = at.causal ? static_cast<int>(first) : 0;  // no earlier query sees these keys
    Place place{end - group, from};
    fetch(block, a, seq, place, shared.stages[0]);
    for (int now = 0; place.head < end; now = 1 - now) {
      block.await();
      block.sync();  // these have come, and the stage before them is done with
      const bool more = place.query + kPassing < at.sequence;
      const Place next = more ? Place{place.head, place.query + kPassing} : Place{place.head + 1, from};
      if (next.head < end) fetch(block, a, seq, next, shared.stages[1 - now]);
      tile(block, shared.stages[now], at, place.query, own);
      place = next;
    }
    for (int which = 0; which < 2; ++which) {
      const Index row = own.key + 8 * which;
      if (row >= at.sequence) continue;
      Tiles::store_row(block, own.dk, which, at.scale, at.dim, a.dqkv + keys + row * at.qkv_width());
      Tiles::store_row(block, own.dv, which, 1, at.dim, a.dqkv + values + row * at.qkv_width());
    }
  }

 private:
  struct Place {
    int head, query;
  };

  /// Of a thread: its keys are `key` and the eighth after it.
  struct Own {
    int key, seen;
    typename Tiles::Left keys, values;
    typename Tiles::Gathered dk = {}, dv = {};
  };

  template <typename Block>
  PLIMSOLL_DEVICE static void fetch(const Block& block, const Args& a, Index seq, const Place& place, Stage& stage) {
    const AttentionSizes& at = a.at;
    const HeadRows<S> queries{a.qkv + at.in_qkv(seq, 0, place.head), at.qkv_width(), at.sequence, at.dim};
    const HeadRows<S> gradients{a.dout + at.in_out(seq, 0, place.head), at.heads * at.dim, at.sequence, at.dim};
    Tiles::fetch_stage(block, queries, gradients, place.query, stage.rows);
    const int i = block.thread();
    if (i >= kPassing) return;
    const bool there = place.query + i < at.sequence;
    const Index row = at.of_row(seq, place.query + (there ? i : 0), place.head);
    block.fetch(stage.log_sums + i, a.log_sum_exp + row, there);
    block.fetch(stage.dots + i, a.dots + row, there);
  }

  /// A tile of queries against the block's keys: rows are keys.
  template <typename Block>
  PLIMSOLL_DEVICE static void tile(const Block& block, const Stage& stage, const AttentionSizes& at, int query,
                                   Own& own) {
    const int pair = WarpPlace(block.thread() % 32).pair;
    typename Tiles::Scores p, ds;
    Tiles::dot_with_rows(block, own.keys, stage.rows, p);
    const float scale = at.scale * kLog2E;
    PLIMSOLL_UNROLL
    for (int c = 0; c < kPassing / 2; ++c) {
      const int column = c / 4 * 8 + pair + c % 2;
      p[c / 4][c % 4] = block.exp2(p[c / 4][c % 4] * scale - stage.log_sums[column] * kLog2E);
    }
    for (int which = 0; which < 2; ++which) hide(at, own.key + 8 * which, own.seen, query + pair, which, p);
    Tiles::add_weighted(block, p, stage.rows + Tiles::kStage / 2, own.dv);
    Tiles::dot_with_rows(block, own.values, stage.rows + Tiles::kStage / 2, ds);
    PLIMSOLL_UNROLL
    for (int c = 0; c < kPassing / 2; ++c) {
      const float score = p[c / 4][c % 4];
      float& gradient = ds[c / 4][c % 4];
      gradient = score == 0 ? 0 : score * (gradient - stage.dots[c / 4 * 8 + pair + c % 2]);
    }
    Tiles::add_weighted(block, ds, stage.rows, own.dk);
  }

  /// Queries that do not see a key give it nothing; `query` is this thread's first.
  PLIMSOLL_DEVICE static void hide(const AttentionSizes& at, int key, int seen, int query, int which,
                                   typename Tiles::Scores& p) {
    const int begin = at.causal ? key - query : key < seen ? 0 : kPassing, end = static_cast<int>(at.sequence) - query;
    if (begin <= 0 && end >= kPassing) return;
    PLIMSOLL_UNROLL
    for (int c = 0; c < kPassing / 4; ++c) {
      const int column = c / 2 * 8 + c % 2;
      if (column < begin || column >= end) p[c / 2][2 * which + c % 2] = 0;
    }
  }
};

/// dQ of a tile of queries of one head, over its tiles of keys in order.
template <typename S, int kDim>
struct MatrixQueryGradients : MatrixTiles<S, kDim, 32> {
  using Tiles = MatrixTiles<S, kDim, 32>;
  using Tiles::kPassing, Tiles::kRows;
  using Args = AttentionBackwardArgs<S>;
  struct Shared {
    alignas(16) typename Tiles::Stage stages[2];  ///< keys, then values
  };

  static Index blocks(const Args& args) {
    return args.at.sequences * args.at.heads * parts_of(args.at.sequence, kRows);
  }

  template <typename Block>
  PLIMSOLL_DEVICE static void run(const Block& block, Shared& shared, const Args& a) {
    const AttentionSizes& at = a.at;
    const QueryTile<S> of(at, a.qkv, block.index(), kRows);
    const HeadRows<S> gradients{a.dout + at.in_out(of.seq, 0, of.head), at.heads * at.dim, at.sequence, at.dim};
    Own own;
    Tiles::load_own(block, of.queries, of.first, shared.stages[0], own.queries);
    Tiles::load_own(block, gradients, of.first, shared.stages[0], own.gradients);
    const WarpPlace lane(block.thread() % 32);
    const Index row = of.first + Tiles::warp_row(block) + lane.row, end = at.seen(of.seq, of.last);
    for (int which = 0; which < 2; ++which) {
      own.take(a, which, of.seq, row + 8 * which < of.last ? row + 8 * which : of.last, of.head);
    }
    Tiles::fetch_stage(block, of.keys, of.values, 0, shared.stages[0]);
    for (int key = 0, now = 0; key < end; key += kPassing, now = 1 - now) {
      block.await();
      block.sync();  // these have come, and the stage before them is done with
      if (key + kPassing < end) Tiles::fetch_stage(block, of.keys, of.values, key + kPassing, shared.stages[1 - now]);
      tile(block, shared.stages[now], key + lane.pair, at.scale * kLog2E, own);
    }
    S* const dq = a.dqkv + at.in_qkv(of.seq, 0, of.head);
    for (int which = 0; which < 2; ++which) {
      if (row + 8 * which >= at.sequence) continue;
      Tiles::store_row(block, own.dq, which, at.scale, at.dim, dq + (row + 8 * which) * at.qkv_width());
    }
  }

 private:
  /// Of a thread and its two queries.
  struct Own {
    int seen[2];
    float shift[2], dot[2];
    typename Tiles::Left queries, gradients;
    typename Tiles::Gathered dq = {};

    PLIMSOLL_DEVICE void take(const Args& a, int which, Index seq, Index row, Index head) {
      seen[which] = static_cast<int>(a.at.seen(seq, row));
      shift[which] = a.log_sum_exp[a.at.of_row(seq, row, head)] * kLog2E;
      dot[which] = a.dots[a.at.of_row(seq, row, head)];
    }
  };

  /// A tile of keys, of which this thread's first is `key`, against the block's queries.
  template <typename Block>
  PLIMSOLL_DEVICE static void tile(const Block& block, const S* stage, int key, float scale, Own& own) {
    typename Tiles::Scores p, ds;
    Tiles::dot_with_rows(block, own.queries, stage, p);
    Tiles::dot_with_rows(block, own.gradients, stage + Tiles::kStage / 2, ds);
    PLIMSOLL_UNROLL
    for (int c = 0; c < kPassing / 2; ++c) {
      const int which = c / 2 % 2, column = c / 4 * 8 + c % 2;
      const float score = column < own.seen[which] - key ? block.exp2(p[c / 4][c % 4] * scale - own.shift[which]) : 0;
      ds[c / 4][c % 4] = score == 0 ? 0 : score * (ds[c / 4][c % 4] - own.dot[which]);
    }
    Tiles::add_weighted(block, ds, stage, own.dq);
  }
};

}  // namespace plimsoll::cuda
