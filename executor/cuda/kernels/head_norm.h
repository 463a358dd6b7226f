#pragma once

#include <cmath>

#include "executor/cuda/kernels/scalar.h"

namespace plimsoll::cuda {

/// RMSNorm of every query and key head of a row: element by element of [row][head], as heads are short.
template <typename S>
struct HeadNormArgs {
  Index rows, heads, kv_heads, dim, width;
  const S *x, *query_weight, *key_weight;
  S* y;
  float* statistics;  ///< [row][head]: reciprocal root mean squares
  float epsilon, offset;

  PLIMSOLL_DEVICE Index normalized() const { return heads + kv_heads; }
};

template <typename S>
struct NormHead {
  HeadNormArgs<S> a;
  PLIMSOLL_DEVICE void operator()(Index i) const {
    const Index row = i / a.normalized(), head = i % a.normalized(), at = row * a.width + head * a.dim;
    const S* weight = head < a.heads ? a.query_weight : a.key_weight;
    float squares = 0;
    for (Index k = 0; k < a.dim; ++k) squares += wide(a.x[at + k]) * wide(a.x[at + k]);
    const float inverse = 1 / std::sqrt(squares / static_cast<float>(a.dim) + a.epsilon);
    for (Index k = 0; k < a.dim; ++k) put(a.y[at + k], wide(a.x[at + k]) * inverse * (wide(weight[k]) + a.offset));
    a.statistics[i] = inverse;
  }
};

/// The values of a row go through as they are: element i of [row][values].
template <typename S>
struct CopyValues {
  Index of_row, width, first;
  const S* x;
  S* y;
  PLIMSOLL_DEVICE void operator()(Index i) const {
    const Index at = i / of_row * width + first + i % of_row;
    y[at] = x[at];
  }
};

/// Shares of the weights' gradients: element i is [tile of kRows rows][query, key][element of a head].
template <typename S>
struct HeadWeightShares {
  static constexpr Index kRows = 64;
  HeadNormArgs<S> a;
  const S* dqkv;
  float* partial;
  PLIMSOLL_DEVICE void operator()(Index i) const {
    const Index tile = i / (2 * a.dim), key = i / a.dim % 2, k = i % a.dim;
    float sum = 0;
    for (Index row = tile * kRows; row < a.rows && row < (tile + 1) * kRows; ++row) {
      for (Index head = key == 0 ? 0 : a.heads; head < (key == 0 ? a.heads : a.normalized()); ++head) {
        const Index at = row * a.width + head * a.dim + k;
        sum += wide(dqkv[at]) * (wide(a.x[at]) * a.statistics[row * a.normalized() + head]);
      }
    }
    partial[i] = sum;
  }
};

/// The gradient of one head, in place.
template <typename S>
struct NormHeadBackward {
  HeadNormArgs<S> a;
  S* dqkv;
  PLIMSOLL_DEVICE void operator()(Index i) const {
    const Index row = i / a.normalized(), head = i % a.normalized(), at = row * a.width + head * a.dim;
    const S* weight = head < a.heads ? a.query_weight : a.key_weight;
    const float inverse = a.statistics[i];
    float sum = 0;
    for (Index k = 0; k < a.dim; ++k) {
      sum += wide(dqkv[at + k]) * (wide(weight[k]) + a.offset) * (wide(a.x[at + k]) * inverse);
    }
    const float mean = sum / static_cast<float>(a.dim);
    for (Index k = 0; k < a.dim; ++k) {
      const float scaled = wide(a.x[at + k]) * inverse;
      put(dqkv[at + k], inverse * (wide(dqkv[at + k]) * (wide(weight[k]) + a.offset) - scaled * mean));
    }
  }
};

}  // namespace plimsoll::cuda
