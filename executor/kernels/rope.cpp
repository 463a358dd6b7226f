#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "executor/kernels/kernels.h"
#include "executor/kernels/storage.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::kernels {
namespace {

constexpr std::int64_t kPositions = 8;  // of one task
constexpr std::int64_t kPairs = 64;     // rotated at once; their angles lie on the stack

template <typename T>
struct Angles {
  std::array<T, kPairs> cosine;
  std::array<T, kPairs> sine;
};

std::int64_t rotated(const OpShape& s) { return s.inputs == 0 ? s.head_dim : s.inputs; }

/// Llama 3 divides the frequencies of waves longer than the first training's positions over low_frequency, keeps those of
/// waves shorter than they over high_frequency, and goes from one to the other linearly in positions per wave.
double scaled(const RopeScaling& scaling, double frequency) {
  if (scaling.kind == RopeScalingKind::kNone) return frequency;
  if (scaling.kind == RopeScalingKind::kLinear) return frequency / scaling.factor;
  const double waves = scaling.original_positions * frequency / (2 * std::numbers::pi);
  const double kept = std::clamp((waves - scaling.low_frequency) / (scaling.high_frequency - scaling.low_frequency), 0.0, 1.0);
  return kept * frequency + (1 - kept) * frequency / scaling.factor;
}

/// Angles of pairs [pairs.begin, pairs.end) at `position`: position · base^(−2 i / rotated elements), computed in double.
template <typename T>
void fill(Angles<T>& angles, const OpShape& s, const RopeScaling& scaling, std::int64_t position, Range pairs) {
  for (std::int64_t i = pairs.begin; i < pairs.end; ++i) {
    const double frequency = std::pow(s.constant, -2.0 * static_cast<double>(i) / static_cast<double>(rotated(s)));
    const double angle = static_cast<double>(position) * scaled(scaling, frequency);
    angles.cosine[static_cast<std::size_t>(i - pairs.begin)] = static_cast<T>(std::cos(angle));
    angles.sine[static_cast<std::size_t>(i - pairs.begin)] = static_cast<T>(std::sin(angle));
  }
}

template <typename S, typename T>
void rotate_pairs(const Angles<T>& angles, std::int64_t n, T sign, S* first, S* second) {
  T of_first[kPairs], of_second[kPairs];
  T *a = opened(n, first, of_first, true), *b = opened(n, second, of_second, true);
  loops<T>().rotate(n, angles.cosine.data(), angles.sine.data(), sign, a, b);
  store(n, a, first);
  store(n, b, second);
}

/// Rotates the pairs (i, i + half of the rotated elements) of all query and key heads by `sign` times their angle.
template <typename S>
void rotate(const OpShape& s, S* qkv, Arithmetic<S> sign, const LaunchContext& context) {
  using T = Arithmetic<S>;
  const std::int64_t width = (s.heads + 2 * s.kv_heads) * s.head_dim;
  const std::int64_t half = rotated(s) / 2;
  const std::int64_t sequences = s.rows / s.sequence;
  const RopeScaling scaling = s.variant == 0 ? context.rope_scaling : RopeScaling{};
  context.pool->run(range_count(s.sequence, kPositions), [&](std::int64_t task, std::int64_t) {
    Angles<T> angles;
    const Range positions = range_at(task, s.sequence, kPositions);
    for (std::int64_t at = positions.begin; at < positions.end; ++at) {
      for (std::int64_t part = 0; part < range_count(half, kPairs); ++part) {
        const Range pairs = range_at(part, half, kPairs);
        fill(angles, s, scaling, s.positions + at, pairs);
        for (std::int64_t i = 0; i < sequences * (s.heads + s.kv_heads); ++i) {
          const std::int64_t row = i / (s.heads + s.kv_heads) * s.sequence + at;
          S* head = qkv + row * width + i % (s.heads + s.kv_heads) * s.head_dim + pairs.begin;
          rotate_pairs(angles, pairs.size(), sign, head, head + half);
        }
      }
    }
  });
}

}  // namespace

template <typename S>
void rope(const OpShape& s, Operands operands, const LaunchContext& context) {
  rotate(s, array<S>(operands, 0), Arithmetic<S>(1), context);
}

template <typename S>
void rope_backward(const OpShape& s, Operands operands, const LaunchContext& context) {
  rotate(s, array<S>(operands, 0), Arithmetic<S>(-1), context);
}

PLIMSOLL_INSTANTIATE_HALF_KERNEL(rope);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(rope_backward);

}  // namespace plimsoll::kernels
