#pragma once

#include "executor/cuda/kernels/scalar.h"

namespace plimsoll::cuda {

/// C = factor·A·B (+ C) (+ bias in every row): A as read is rows × depth, B depth × columns, all row-major; a transposed
/// operand lies as its transpose.
template <typename S>
struct ProductArgs {
  Index rows, columns, depth;
  const S* a;
  Index a_stride;
  bool a_transposed;
  const S* b;
  Index b_stride;
  bool b_transposed;
  S* c;
  Index c_stride;
  bool adds = false;
  float factor = 1;
  const S* bias = nullptr;
};

/// A product by tiles of kTile × kTile sums in registers: where no library is.
template <typename S>
struct TileProduct {
  static constexpr int kThreads = 256;
  static constexpr int kTile = 64, kDepth = 16;
  static constexpr int kOwn = 4;  ///< rows and columns of a thread's sums
  using Args = ProductArgs<S>;
  struct Shared {
    float a[kDepth][kTile + 1];
    float b[kDepth][kTile + 1];
  };

  static Index blocks(const Args& args) { return parts_of(args.rows, kTile) * parts_of(args.columns, kTile); }

  template <typename Block>
  PLIMSOLL_DEVICE static void run(const Block& block, Shared& shared, const Args& p) {
    const Index tiles = parts_of(p.rows, kTile);
    const Index row = block.index() % tiles * kTile, column = block.index() / tiles * kTile;
    const int of_row = block.thread() / 16 * kOwn, of_column = block.thread() % 16;
    float sums[kOwn][kOwn] = {};
    for (Index depth = 0; depth < p.depth; depth += kDepth) {
      fetch(block.thread(), p, row, column, depth, shared);
      block.sync();
      for (int k = 0; k < kDepth; ++k) {
        float b[kOwn];
        for (int j = 0; j < kOwn; ++j) b[j] = shared.b[k][of_column + 16 * j];
        for (int i = 0; i < kOwn; ++i) {
          const float a = shared.a[k][of_row + i];
          for (int j = 0; j < kOwn; ++j) sums[i][j] += a * b[j];
        }
      }
      block.sync();
    }
    for (int i = 0; i < kOwn; ++i) {
      for (int j = 0; j < kOwn; ++j) finish(p, row + of_row + i, column + of_column + 16 * j, sums[i][j]);
    }
  }

 private:
  /// Neighbouring threads read neighbouring elements, whichever way an operand lies; what is beyond an edge is 0.
  PLIMSOLL_DEVICE static void fetch(int thread, const Args& p, Index row, Index column, Index depth, Shared& shared) {
    for (int e = thread; e < kTile * kDepth; e += kThreads) {
      const int ak = p.a_transposed ? e / kTile : e % kDepth, ai = p.a_transposed ? e % kTile : e / kDepth;
      const Index i = row + ai, ka = depth + ak;
      shared.a[ak][ai] =
          i < p.rows && ka < p.depth ? wide(p.a_transposed ? p.a[ka * p.a_stride + i] : p.a[i * p.a_stride + ka]) : 0;
      const int bk = p.b_transposed ? e % kDepth : e / kTile, bj = p.b_transposed ? e / kDepth : e % kTile;
      const Index j = column + bj, kb = depth + bk;
      shared.b[bk][bj] =
          j < p.columns && kb < p.depth ? wide(p.b_transposed ? p.b[j * p.b_stride + kb] : p.b[kb * p.b_stride + j]) : 0;
    }
  }

  PLIMSOLL_DEVICE static void finish(const Args& p, Index row, Index column, float sum) {
    if (row >= p.rows || column >= p.columns) return;
    S& place = p.c[row * p.c_stride + column];
    sum *= p.factor;
    if (p.adds) sum += wide(place);
    if (p.bias != nullptr) sum += wide(p.bias[column]);
    put(place, sum);
  }
};

/// Adds a bias to every row: after a library's product.
template <typename S>
struct AddBias {
  const S* bias;
  S* y;
  Index columns, stride;
  PLIMSOLL_DEVICE void operator()(Index i) const {
    S& place = y[i / columns * stride + i % columns];
    put(place, wide(place) + wide(bias[i % columns]));
  }
};

}  // namespace plimsoll::cuda
