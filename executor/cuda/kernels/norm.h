#pragma once

#include <cmath>

#include "executor/cuda/kernels/scalar.h"

namespace plimsoll::cuda {

/// What a norm works on: a row of `width` elements a block. LayerNorm centres and has a bias; RMSNorm neither.
template <typename S>
struct NormArgs {
  Index rows, width;
  const S *x, *weight, *bias;
  S* y;
  float* statistics;  ///< mean and reciprocal deviation of each row
  float epsilon, offset;  ///< the latter is added to weights
  bool centred;
};

template <typename S>
struct NormRows {
  static constexpr int kThreads = 256;
  using Args = NormArgs<S>;
  struct Shared {
    float values[kThreads];
  };

  static Index blocks(const Args& args) { return args.rows; }

  template <typename Block>
  PLIMSOLL_DEVICE static void run(const Block& block, Shared& shared, const Args& a) {
    const Index row = block.index();
    const S* x = a.x + row * a.width;
    S* y = a.y + row * a.width;
    float sum = 0;
    for (Index i = block.thread(); a.centred && i < a.width; i += kThreads) sum += wide(x[i]);
    const float mean = reduce<kThreads>(block, shared.values, sum, Plus()) / static_cast<float>(a.width);
    float squares = 0;
    for (Index i = block.thread(); i < a.width; i += kThreads) squares += (wide(x[i]) - mean) * (wide(x[i]) - mean);
    squares = reduce<kThreads>(block, shared.values, squares, Plus());
    const float inverse = 1 / std::sqrt(squares / static_cast<float>(a.width) + a.epsilon);
    for (Index i = block.thread(); i < a.width; i += kThreads) {
      const float scaled = (wide(x[i]) - mean) * inverse * (wide(a.weight[i]) + a.offset);
      put(y[i], a.centred ? scaled + wide(a.bias[i]) : scaled);
    }
    if (block.thread() > 0) return;
    a.statistics[2 * row] = mean;
    a.statistics[2 * row + 1] = inverse;
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
  bool centred, adds;
  Index sums;  ///< 2 with a bias, 1 without
};

/// Shares of the weight and bias gradients: a block sums kRows rows of kThreads columns.
template <typename S>
struct NormWeightShares {
  static constexpr int kThreads = 128;
  static constexpr Index kRows = 64;
  using Args = NormBackwardArgs<S>;
  struct Shared {};

  static Index tiles(const Args& args) { return parts_of(args.rows, kRows); }
  static Index blocks(const Args& args) { return tiles(args) * parts_of(args.width, kThreads); }

  template <typename Block>
  PLIMSOLL_DEVICE static void run(const Block& block, Shared&, const Args& a) {
    const Index chunks = parts_of(a.width, kThreads), tile = block.index() / chunks;
    const Index column = block.index() % chunks * kThreads + block.thread();
    if (column >= a.width) return;
    float weight = 0, bias = 0;
    for (Index row = tile * kRows; row < a.rows && row < (tile + 1) * kRows; ++row) {
      const float d = wide(a.dy[row * a.width + column]);
      weight += d * ((wide(a.x[row * a.width + column]) - a.statistics[2 * row]) * a.statistics[2 * row + 1]);
      bias += d;
    }
    a.partial[tile * a.sums * a.width + column] = weight;
    if (a.sums == 2) a.partial[(tile * 2 + 1) * a.width + column] = bias;
  }
};

/// With x̂ = (x − mean) · s and g = dy · w: dx = s (g − mean(g) − x̂ · mean(g x̂)); RMSNorm has no mean(g).
template <typename S>
struct NormInputGradient {
  static constexpr int kThreads = 256;
  using Args = NormBackwardArgs<S>;
  struct Shared {
    float values[kThreads];
  };

  static Index blocks(const Args& args) { return args.rows; }

  template <typename Block>
  PLIMSOLL_DEVICE static void run(const Block& block, Shared& shared, const Args& a) {
    const Index row = block.index(), at = row * a.width;
    const float mean = a.statistics[2 * row], inverse = a.statistics[2 * row + 1];
    float sum = 0, sum_x = 0;
    for (Index i = block.thread(); i < a.width; i += kThreads) {
      const float g = wide(a.dy[at + i]) * (wide(a.weight[i]) + a.offset);
      sum += g;
      sum_x += g * ((wide(a.x[at + i]) - mean) * inverse);
    }
    sum = reduce<kThreads>(block, shared.values, sum, Plus());
    sum_x = reduce<kThreads>(block, shared.values, sum_x, Plus());
    const float mean_g = a.centred ? sum / static_cast<float>(a.width) : 0, mean_gx = sum_x / static_cast<float>(a.width);
    for (Index i = block.thread(); i < a.width; i += kThreads) {
      const float centred = (wide(a.x[at + i]) - mean) * inverse;
      const float gradient = inverse * (wide(a.dy[at + i]) * (wide(a.weight[i]) + a.offset) - mean_g - centred * mean_gx);
      put(a.dx[at + i], a.adds ? wide(a.dx[at + i]) + gradient : gradient);
    }
  }
};

/// Sums shares [part][column] in the order of the parts.
template <typename S>
struct SumShares {
  const float* shares;
  Index parts, stride;
  S* sums;
  PLIMSOLL_DEVICE void operator()(Index column) const {
    float sum = 0;
    for (Index part = 0; part < parts; ++part) sum += shares[part * stride + column];
    put(sums[column], sum);
  }
};

}  // namespace plimsoll::cuda
