#include "sim/cost/sample.h"

#include <algorithm>

#include "sim/cost/quantile.h"

namespace plimsoll {
namespace {

constexpr std::size_t kEnoughUncontended = 3;
constexpr double kOutlier = 3.0;
constexpr double kLow = 0.05;
constexpr double kHigh = 0.95;

struct Durations {
  std::vector<double> alone;
  std::vector<double> contended;
  std::size_t seen = 0;
};

bool is_usable(const Sample& sample) {
  const auto least = sample.key.subject == CostSubject::kIssue ? Nanoseconds(0) : Nanoseconds(1);
  return sample.duration >= least;
}

/// Groups by key without the warm-up samples.
std::map<CostKey, Durations> group(std::span<const Sample> samples, SampleCount& count) {
  std::map<CostKey, std::size_t> total;
  for (const auto& sample : samples) total[sample.key] += is_usable(sample) ? 1 : 0;
  std::map<CostKey, Durations> groups;
  for (const auto& sample : samples) {
    if (!is_usable(sample)) continue;
    ++count.samples;
    auto& durations = groups[sample.key];
    if (durations.seen++ == 0 && total[sample.key] > 1) {
      ++count.warm_up;
      continue;
    }
    count.contended += sample.contended ? 1 : 0;
    (sample.contended ? durations.contended : durations.alone).push_back(static_cast<double>(sample.duration.count));
  }
  return groups;
}

std::size_t outliers_in(const std::vector<double>& values, double median) {
  return static_cast<std::size_t>(std::count_if(values.begin(), values.end(), [&](double value) {
    return value > kOutlier * median || value * kOutlier < median;
  }));
}

/// Steps are sums of executions, and sums of skewed durations follow their means, not their medians. Issues are waits
/// between threads, which other plans do not repeat: their median stands.
double expected(CostSubject subject, const std::vector<double>& values, double median) {
  if (subject == CostSubject::kIssue) return median;
  double sum = 0;
  for (const double value : values) sum += std::min(value, kOutlier * median);
  return sum / static_cast<double>(values.size());
}

}  // namespace

SampleStatistics summarize_samples(std::span<const Sample> samples) {
  SampleStatistics statistics;
  for (const auto& [key, durations] : group(samples, statistics.count)) {
    const bool enough = durations.alone.size() >= kEnoughUncontended || durations.contended.empty();
    std::vector<double> values = durations.alone;
    if (!enough) values.insert(values.end(), durations.contended.begin(), durations.contended.end());
    const double median = quantile(values, 0.5);
    statistics.count.outliers += outliers_in(values, median);
    statistics.keys[key] = {.expected_ns = expected(key.subject, values, median),
                            .low_ns = quantile(values, kLow),
                            .high_ns = quantile(values, kHigh),
                            .samples = values.size(),
                            .contended = !enough};
  }
  statistics.count.keys = statistics.keys.size();
  for (const auto& sample : samples) {
    if (!sample.plan_digest.empty()) statistics.plans.push_back(sample.plan_digest);
  }
  std::sort(statistics.plans.begin(), statistics.plans.end());
  statistics.plans.erase(std::unique(statistics.plans.begin(), statistics.plans.end()), statistics.plans.end());
  return statistics;
}

}  // namespace plimsoll
