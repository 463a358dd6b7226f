#pragma once

#include <cstdint>

namespace plimsoll {

/// Distances from here on share the last bucket: T5's relative_attention_max_distance, which no released model changes.
inline constexpr std::int64_t kFarthestDistance = 128;

/// With fewer buckets a direction of an encoder has no near one; with more, near ones reach beyond the farthest
/// distance.
inline constexpr std::int64_t kFewestBuckets = 4;
inline constexpr std::int64_t kMostBuckets = 2 * kFarthestDistance - 1;

/// How distances of two tokens share learnt numbers (Raffel et al. 2020, section 2.1).
struct DistanceBuckets {
  std::int64_t count = 32;
  std::int64_t farthest = kFarthestDistance;
  bool causal = false;  ///< keys behind a query share the first bucket; else half of the buckets are theirs

  /// The bucket of a key that stands `ahead` places behind its query in reading order (before it: negative). Near
  /// distances have one each, farther ones share, by the logarithm, up to `farthest`. In fp32, as transformers computes
  /// it.
  [[nodiscard]] std::int64_t of(std::int64_t ahead) const;
};

}  // namespace plimsoll
