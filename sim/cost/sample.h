#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/base/quantity.h"
#include "sim/cost/cost_key.h"

namespace plimsoll {

/// One measured execution.
struct Sample {
  CostKey key;
  Nanoseconds duration;
  std::string plan_digest;  ///< of the plan that was running
  bool contended = false;   ///< other work slowed it for part of the time
};

/// What is known of one key.
struct KeyStatistics {
  double expected_ns = 0;  ///< mean, an outlier counted as three times the median: what one execution adds to a step
  double low_ns = 0;   ///< 5th percentile
  double high_ns = 0;  ///< 95th percentile
  std::size_t samples = 0;
  bool contended = false;  ///< made of contended samples, because there were too few others
};

/// What became of the samples, for people.
struct SampleCount {
  std::size_t samples = 0;
  std::size_t keys = 0;
  std::size_t warm_up = 0;    ///< first samples of their keys, left out
  std::size_t contended = 0;  ///< left out where a key has enough uncontended ones
  std::size_t outliers = 0;   ///< more than three times their key's median, or less than a third; counted, kept
};

/// Statistics by key, of samples in the order in which they were measured.
struct SampleStatistics {
  std::map<CostKey, KeyStatistics> keys;
  SampleCount count;
  std::vector<std::string> plans;  ///< digests of the plans sampled, sorted, each once
};

/// Drops the first sample of each key that has another (the first execution warms caches and page tables up), prefers
/// uncontended samples where a key has at least three, and ignores durations that are not positive, except of issues.
SampleStatistics summarize_samples(std::span<const Sample> samples);

}  // namespace plimsoll
