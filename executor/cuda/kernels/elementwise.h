#pragma once

#include <cmath>

#include "executor/cuda/kernels/pack.h"

namespace plimsoll::cuda {

/// Calls `apply(i)` once for every i in [0, elements).
template <typename Apply>
struct ForEach {
  static constexpr int kThreads = 256;
  static constexpr Index kEach = 4;  ///< elements of one thread, kThreads apart
  struct Args {
    Index elements;
    Apply apply;
  };
  struct Shared {};

  static Index blocks(const Args& args) { return parts_of(args.elements, kThreads * kEach); }

  template <typename Block>
  PLIMSOLL_DEVICE static void run(const Block& block, Shared&, const Args& args) {
    const Index first = block.index() * kThreads * kEach + block.thread();
    for (Index k = 0; k < kEach; ++k) {
      const Index i = first + k * kThreads;
      if (i < args.elements) args.apply(i);
    }
  }
};

/// Into a sum of fp32.
template <typename S>
struct AddToSum {
  const S* gradient;
  float* sum;
  bool starts;
  PLIMSOLL_DEVICE void operator()(Index i) const { sum[i] = starts ? wide(gradient[i]) : sum[i] + wide(gradient[i]); }
};

// What follows is applied to packs (ForEachPack), of rows of `width` elements.

template <typename S>
struct AddTwo {
  const S *a, *b;
  S* y;
  Index width;
  template <typename Block>
  PLIMSOLL_DEVICE void operator()(const Block& block, Index, Index i, bool packed) const {
    float first[kPack], second[kPack];
    load_pack(block, first, a, i, width, packed);
    load_pack(block, second, b, i, width, packed);
    for (int k = 0; k < kPack; ++k) first[k] += second[k];
    store_pack(block, y, first, i, width, packed);
  }
};

PLIMSOLL_DEVICE inline float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }
PLIMSOLL_DEVICE inline float normal_cdf(float x) { return 0.5F * std::erfc(-x * 0.70710678F); }

/// ½ x (1 + tanh u) = x σ(2u), u = √(2/π) (x + 0.044715 x³).
PLIMSOLL_DEVICE inline float twice_argument(float x) { return x * (1.5957691216F + 0.0713548162726F * x * x); }
PLIMSOLL_DEVICE inline float twice_slope(float x) { return 1.5957691216F + 0.2140644488178F * x * x; }

// An activation: its value, and what its input's gradient is of its output's.
struct Gelu {
  PLIMSOLL_DEVICE static float value(float x) { return x * normal_cdf(x); }
  PLIMSOLL_DEVICE static float slope(float x) { return normal_cdf(x) + x * 0.3989422804F * std::exp(-0.5F * x * x); }
};
struct GeluTanh {
  PLIMSOLL_DEVICE static float value(float x) { return x * sigmoid(twice_argument(x)); }
  PLIMSOLL_DEVICE static float slope(float x) {
    const float s = sigmoid(twice_argument(x));
    return s + x * s * (1 - s) * twice_slope(x);
  }
};
struct Silu {
  PLIMSOLL_DEVICE static float value(float x) { return x * sigmoid(x); }
  PLIMSOLL_DEVICE static float slope(float x) {
    const float s = sigmoid(x);
    return s * (1 + x * (1 - s));
  }
};
struct Tanh {
  PLIMSOLL_DEVICE static float value(float x) { return std::tanh(x); }
  PLIMSOLL_DEVICE static float slope(float x) {
    const float y = std::tanh(x);
    return 1 - y * y;
  }
};
struct Relu {
  PLIMSOLL_DEVICE static float value(float x) { return x > 0 ? x : 0; }
  PLIMSOLL_DEVICE static float slope(float x) { return x > 0 ? 1.0F : 0.0F; }
};
struct SquaredRelu {
  PLIMSOLL_DEVICE static float value(float x) { return x > 0 ? x * x : 0; }
  PLIMSOLL_DEVICE static float slope(float x) { return x > 0 ? 2 * x : 0.0F; }
};

template <typename S, typename A>
struct Activate {
  const S* x;
  S* y;
  Index width;
  template <typename Block>
  PLIMSOLL_DEVICE void operator()(const Block& block, Index, Index i, bool packed) const {
    float values[kPack];
    load_pack(block, values, x, i, width, packed);
    for (int k = 0; k < kPack; ++k) values[k] = A::value(values[k]);
    store_pack(block, y, values, i, width, packed);
  }
};

template <typename S, typename A>
struct ActivateBackward {
  const S *x, *dy;
  S* dx;
  Index width;
  template <typename Block>
  PLIMSOLL_DEVICE void operator()(const Block& block, Index, Index i, bool packed) const {
    float values[kPack], d[kPack];
    load_pack(block, values, x, i, width, packed);
    load_pack(block, d, dy, i, width, packed);
    for (int k = 0; k < kPack; ++k) d[k] *= A::slope(values[k]);
    store_pack(block, dx, d, i, width, packed);
  }
};

/// A row of x is `width` gates, then `width` values.
template <typename S, typename A>
struct ActivateGated {
  const S* x;
  S* y;
  Index width;
  template <typename Block>
  PLIMSOLL_DEVICE void operator()(const Block& block, Index row, Index i, bool packed) const {
    float gates[kPack], values[kPack];
    load_pack(block, gates, x + 2 * row * width, i, width, packed);
    load_pack(block, values, x + (2 * row + 1) * width, i, width, packed);
    for (int k = 0; k < kPack; ++k) values[k] *= A::value(gates[k]);
    store_pack(block, y + row * width, values, i, width, packed);
  }
};

template <typename S, typename A>
struct ActivateGatedBackward {
  const S *x, *dy;
  S* dx;
  Index width;
  template <typename Block>
  PLIMSOLL_DEVICE void operator()(const Block& block, Index row, Index i, bool packed) const {
    float gates[kPack], values[kPack], d[kPack];
    load_pack(block, gates, x + 2 * row * width, i, width, packed);
    load_pack(block, values, x + (2 * row + 1) * width, i, width, packed);
    load_pack(block, d, dy + row * width, i, width, packed);
    for (int k = 0; k < kPack; ++k) {
      values[k] = d[k] * values[k] * A::slope(gates[k]);
      d[k] *= A::value(gates[k]);
    }
    store_pack(block, dx + 2 * row * width, values, i, width, packed);
    store_pack(block, dx + (2 * row + 1) * width, d, i, width, packed);
  }
};

}  // namespace plimsoll::cuda
