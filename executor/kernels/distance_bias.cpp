#include <algorithm>
#include <vector>

#include "core/model/distance_bucket.h"
#include "executor/kernels/kernels.h"
#include "executor/kernels/storage.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::kernels {
namespace {

/// The bucket of every distance, from 1 − sequence on.
std::vector<std::int64_t> buckets_of(const OpShape& s) {
  const DistanceBuckets buckets{
      .count = s.rows, .farthest = s.inputs, .causal = s.variant == static_cast<std::uint8_t>(AttentionKind::kCausal)};
  std::vector<std::int64_t> found;
  for (std::int64_t ahead = 1 - s.sequence; ahead < s.sequence; ++ahead) found.push_back(buckets.of(ahead));
  return found;
}

}  // namespace

/// Rows of the table are buckets, columns heads.
template <typename S>
void distance_bias(const OpShape& s, Operands operands, const LaunchContext& context) {
  using T = Arithmetic<S>;
  const S* table = array<S>(operands, 0);
  T* bias = array<T>(operands, 1);
  const std::vector<std::int64_t> buckets = buckets_of(s);
  const std::int64_t numbers = distance_count(s.sequence);
  context.pool->run(s.heads, [&](std::int64_t head, std::int64_t) {
    for (std::int64_t i = 0; i < numbers; ++i) {
      widen_into<S>(1, table + buckets[static_cast<std::size_t>(i)] * s.heads + head, bias + head * numbers + i);
    }
  });
}

/// Each head sums the distances of a bucket in their order.
template <typename S>
void distance_bias_backward(const OpShape& s, Operands operands, const LaunchContext& context) {
  using T = Arithmetic<S>;
  const T* d_bias = array<T>(operands, 0);
  S* d_table = array<S>(operands, 1);
  const std::vector<std::int64_t> buckets = buckets_of(s);
  const std::int64_t numbers = distance_count(s.sequence);
  context.pool->run(1, [&](std::int64_t, std::int64_t) {  // neighbours in a row of the table are of different heads
    std::vector<T> sums(static_cast<std::size_t>(s.rows * s.heads), T(0));
    for (std::int64_t i = 0; i < numbers; ++i) {
      T* row = sums.data() + buckets[static_cast<std::size_t>(i)] * s.heads;
      for (std::int64_t head = 0; head < s.heads; ++head) row[head] += d_bias[head * numbers + i];
    }
    round_into<S>(s.rows * s.heads, sums.data(), d_table);
  });
}

PLIMSOLL_INSTANTIATE_HALF_KERNEL(distance_bias);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(distance_bias_backward);

}  // namespace plimsoll::kernels
