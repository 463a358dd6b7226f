#pragma once

#include <cmath>

#include "executor/cuda/kernels/column_sums.h"

namespace plimsoll::cuda {

/// What a norm works on: a row of `width` elements a warp. LayerNorm centres and has a bias; RMSNorm neither.
template <typename S>
struct NormArgs {
  Index rows, width;
  const S *x, *weight, *bias;
  S* y;
  float* statistics;  ///< mean and reciprocal deviation of each row
  float epsilon, offset;  ///< the latter is added to weights
  bool centred, packed;
};

/// Rows of a block, one for each of its warps, whose threads take packs in turn.
struct RowsOfWarps {
  static constexpr int kThreads = 256, kWarp = 32, kRows = kThreads / kWarp;
  static constexpr Index kStep = kWarp * kPack;
  Index row, first;  ///< the warp's row, and where the thread's packs begin

  template <typename Block>
  PLIMSOLL_DEVICE explicit RowsOfWarps(const Block& block)
      : row(block.index() * kRows + block.thread() / kWarp), first(block.thread() % kWarp * kPack) {}
};

template <typename S>
struct NormRows {
  static constexpr int kThreads = RowsOfWarps::kThreads;
  using Args = NormArgs<S>;
  struct Shared {};

  static Index blocks(const Args& args) { return parts_of(args.rows, RowsOfWarps::kRows); }

  template <typename Block>
  PLIMSOLL_DEVICE static void run(const Block& block, Shared&, const Args& a) {
    const RowsOfWarps own(block);
    if (own.row >= a.rows) return;
    const S* x = a.x + own.row * a.width;
    float values[kPack], sum = 0, squares = 0;
    for (Index i = own.first; a.centred && i < a.width; i += RowsOfWarps::kStep) {
      load_pack(block, values, x, i, a.width, a.packed);
      for (int k = 0; k < kPack; ++k) sum += values[k];
    }
    const float mean = a.centred ? sum_of_warp(block, sum) / static_cast<float>(a.width) : 0;
    for (Index i = own.first; i < a.width; i += RowsOfWarps::kStep) {
      load_pack(block, values, x, i, a.width, a.packed);
      for (int k = 0; k < kPack; ++k) squares += i + k < a.width ? (values[k] - mean) * (values[k] - mean) : 0;
    }
    const float inverse = 1 / std::sqrt(sum_of_warp(block, squares) / static_cast<float>(a.width) + a.epsilon);
    for (Index i = own.first; i < a.width; i += RowsOfWarps::kStep) scale(block, a, own.row, i, mean, inverse);
    if (own.first > 0) return;
    a.statistics[2 * own.row] = mean;
    a.statistics[2 * own.row + 1] = inverse;
  }

 private:
  template <typename Block>
  PLIMSOLL_DEVICE static void scale(const Block& block, const Args& a, Index row, Index i, float mean, float inverse) {
    float values[kPack], weights[kPack], biases[kPack] = {};
    load_pack(block, values, a.x + row * a.width, i, a.width, a.packed);
    load_pack(block, weights, a.weight, i, a.width, a.packed);
    if (a.centred) load_pack(block, biases, a.bias, i, a.width, a.packed);
    for (int k = 0; k < kPack; ++k) {
      const float scaled = (values[k] - mean) * inverse * (weights[k] + a.offset);
      values[k] = a.centred ? scaled + biases[k] : scaled;
    }
    store_pack(block, a.y + row * a.width, values, i, a.width, a.packed);
  }
};

template <typename S>
struct NormBackwardArgs {
  Index rows, width;
  const S *dy, *x, *weight;
  const float* statistics;
  S* dx;
  float* partial;  ///< [tile][weight, bias][column]
  float offset;
  bool centred, adds, packed;
  Index sums;  ///< 2 with a bias, 1 without
};

/// Shares of the weight and bias gradients: a block sums kRows rows of a group's columns.
template <typename S>
struct NormWeightShares {
  static constexpr int kThreads = ColumnGroups::kThreads;
  static constexpr Index kRows = 64;
  using Args = NormBackwardArgs<S>;
  struct Shared {
    ColumnGroups::Sums weights, biases;
  };

  static Index tiles(const Args& args) { return parts_of(args.rows, kRows); }
  static Index blocks(const Args& args) { return tiles(args) * parts_of(args.width, ColumnGroups::kColumns); }

  template <typename Block>
  PLIMSOLL_DEVICE static void run(const Block& block, Shared& shared, const Args& a) {
    const ColumnGroups own(block, a.width);
    const Index tile = own.tile, end = (tile + 1) * kRows < a.rows ? (tile + 1) * kRows : a.rows;
    float weights[kPack] = {}, biases[kPack] = {}, d[kPack], x[kPack];
    for (Index row = tile * kRows + own.group; own.column < a.width && row < end; row += ColumnGroups::kGroups) {
      load_pack(block, d, a.dy + row * a.width, own.column, a.width, a.packed);
      load_pack(block, x, a.x + row * a.width, own.column, a.width, a.packed);
      const float mean = a.statistics[2 * row], inverse = a.statistics[2 * row + 1];
      for (int k = 0; k < kPack; ++k) {
        weights[k] += d[k] * ((x[k] - mean) * inverse);
        biases[k] += d[k];
      }
    }
    own.put(shared.weights, weights);
    own.put(shared.biases, biases);
    block.sync();
    if (own.summed >= a.width) return;
    a.partial[tile * a.sums * a.width + own.summed] = own.sum(block, shared.weights);
    if (a.sums == 2) a.partial[(tile * 2 + 1) * a.width + own.summed] = own.sum(block, shared.biases);
  }
};

/// With x̂ = (x − mean) · s and g = dy · w: dx = s (g − mean(g) − x̂ · mean(g x̂)); RMSNorm has no mean(g).
template <typename S>
struct NormInputGradient {
  static constexpr int kThreads = RowsOfWarps::kThreads;
  using Args = NormBackwardArgs<S>;
  struct Shared {};

  static Index blocks(const Args& args) { return parts_of(args.rows, RowsOfWarps::kRows); }

  template <typename Block>
  PLIMSOLL_DEVICE static void run(const Block& block, Shared&, const Args& a) {
    const RowsOfWarps own(block);
    if (own.row >= a.rows) return;
    const float inverse = a.statistics[2 * own.row + 1];
    float g[kPack], centred[kPack], sum = 0, sum_x = 0;
    for (Index i = own.first; i < a.width; i += RowsOfWarps::kStep) {
      load(block, a, own.row, i, g, centred);
      for (int k = 0; k < kPack; ++k) {  // beyond the row g is 0
        sum += g[k];
        sum_x += g[k] * centred[k];
      }
    }
    const auto width = static_cast<float>(a.width);
    const float all = sum_of_warp(block, sum), mean_g = a.centred ? all / width : 0, mean_gx = sum_of_warp(block, sum_x) / width;
    for (Index i = own.first; i < a.width; i += RowsOfWarps::kStep) {
      load(block, a, own.row, i, g, centred);
      float kept[kPack] = {};
      if (a.adds) load_pack(block, kept, a.dx + own.row * a.width, i, a.width, a.packed);
      for (int k = 0; k < kPack; ++k) {
        const float gradient = inverse * (g[k] - mean_g - centred[k] * mean_gx);
        g[k] = a.adds ? kept[k] + gradient : gradient;
      }
      store_pack(block, a.dx + own.row * a.width, g, i, a.width, a.packed);
    }
  }

 private:
  template <typename Block>
  PLIMSOLL_DEVICE static void load(const Block& block, const Args& a, Index row, Index i, float (&g)[kPack], float (&centred)[kPack]) {
    float weights[kPack];
    load_pack(block, g, a.dy + row * a.width, i, a.width, a.packed);
    load_pack(block, centred, a.x + row * a.width, i, a.width, a.packed);
    load_pack(block, weights, a.weight, i, a.width, a.packed);
    const float mean = a.statistics[2 * row], inverse = a.statistics[2 * row + 1];
    for (int k = 0; k < kPack; ++k) {
      g[k] *= weights[k] + a.offset;
      centred[k] = (centred[k] - mean) * inverse;
    }
  }
};

}  // namespace plimsoll::cuda
