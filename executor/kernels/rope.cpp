#include <array>
#include <cmath>

#include "executor/kernels/kernels.h"
#include "executor/kernels/loops.h"
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

/// Angles of pairs [pairs.begin, pairs.end) at `position`: position · base^(−2 i / head_dim), computed in double.
template <typename T>
void fill(Angles<T>& angles, const OpShape& s, std::int64_t position, Range pairs) {
  for (std::int64_t i = pairs.begin; i < pairs.end; ++i) {
    const double frequency = std::pow(s.constant, -2.0 * static_cast<double>(i) / static_cast<double>(s.head_dim));
    const double angle = static_cast<double>(position) * frequency;
    angles.cosine[static_cast<std::size_t>(i - pairs.begin)] = static_cast<T>(std::cos(angle));
    angles.sine[static_cast<std::size_t>(i - pairs.begin)] = static_cast<T>(std::sin(angle));
  }
}

/// Rotates the pairs (i, i + head_dim / 2) of all query and key heads by `sign` times their angle.
template <typename T>
void rotate(const OpShape& s, T* qkv, T sign, WorkerPool& pool) {
  const std::int64_t width = (s.heads + 2 * s.kv_heads) * s.head_dim;
  const std::int64_t half = s.head_dim / 2;
  const std::int64_t sequences = s.rows / s.sequence;
  pool.run(range_count(s.sequence, kPositions), [&](std::int64_t task, std::int64_t) {
    Angles<T> angles;
    const Range positions = range_at(task, s.sequence, kPositions);
    for (std::int64_t at = positions.begin; at < positions.end; ++at) {
      for (std::int64_t part = 0; part < range_count(half, kPairs); ++part) {
        const Range pairs = range_at(part, half, kPairs);
        fill(angles, s, at, pairs);
        for (std::int64_t i = 0; i < sequences * (s.heads + s.kv_heads); ++i) {
          const std::int64_t row = i / (s.heads + s.kv_heads) * s.sequence + at;
          T* head = qkv + row * width + i % (s.heads + s.kv_heads) * s.head_dim + pairs.begin;
          loops<T>().rotate(pairs.size(), angles.cosine.data(), angles.sine.data(), sign, head, head + half);
        }
      }
    }
  });
}

}  // namespace

template <typename T>
void rope(const OpShape& s, Operands operands, const LaunchContext& context) {
  rotate(s, array<T>(operands, 0), T(1), *context.pool);
}

template <typename T>
void rope_backward(const OpShape& s, Operands operands, const LaunchContext& context) {
  rotate(s, array<T>(operands, 0), T(-1), *context.pool);
}

PLIMSOLL_INSTANTIATE_KERNEL(rope);
PLIMSOLL_INSTANTIATE_KERNEL(rope_backward);

}  // namespace plimsoll::kernels
