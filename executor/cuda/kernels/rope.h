#pragma once

#include <cmath>

#include "core/model/model_spec.h"
#include "executor/cuda/kernels/scalar.h"

namespace plimsoll::cuda {

/// Rotates the pairs (i, i + half of the rotated elements) of all query and key heads; one row of qkv a block.
template <typename S>
struct Rotate {
  static constexpr int kThreads = 64;
  struct Args {
    Index rows, sequence, heads, width, head_dim, rotated, first_position;
    double base;
    RopeScaling scaling;
    S* qkv;
    float sign;
  };
  struct Shared {};

  static Index blocks(const Args& args) { return args.rows; }

  template <typename Block>
  PLIMSOLL_DEVICE static void run(const Block& block, Shared&, const Args& a) {
    const Index half = a.rotated / 2, position = a.first_position + block.index() % a.sequence;
    for (Index i = block.thread(); i < half; i += kThreads) {
      const double frequency = pow(a.base, -2.0 * static_cast<double>(i) / static_cast<double>(a.rotated));
      const double angle = static_cast<double>(position) * scaled(a.scaling, frequency);
      const float cosine = static_cast<float>(cos(angle)), sine = a.sign * static_cast<float>(sin(angle));
      for (Index head = 0; head < a.heads; ++head) {
        S* first = a.qkv + block.index() * a.width + head * a.head_dim + i;
        const float x = wide(first[0]), y = wide(first[half]);
        put(first[0], x * cosine - y * sine);
        put(first[half], y * cosine + x * sine);
      }
    }
  }

 private:
  /// As the CPU's kernel: Llama 3 divides long waves' frequencies, keeps short ones and goes linearly between them.
  PLIMSOLL_DEVICE static double scaled(const RopeScaling& s, double frequency) {
    if (s.kind == RopeScalingKind::kNone) return frequency;
    if (s.kind == RopeScalingKind::kLinear) return frequency / s.factor;
    const double waves = s.original_positions * frequency / 6.283185307179586;
    double kept = (waves - s.low_frequency) / (s.high_frequency - s.low_frequency);
    kept = kept < 0 ? 0 : kept > 1 ? 1 : kept;
    return kept * frequency + (1 - kept) * frequency / s.factor;
  }
};

}  // namespace plimsoll::cuda
