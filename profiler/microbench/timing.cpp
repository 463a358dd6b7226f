#include "profiler/microbench/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

/// The nearest of sorted values at a share of the way from the first to the last.
double at_share(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<std::size_t>(std::lround(share * static_cast<double>(sorted.size() - 1)))];
}

}  // namespace

std::vector<double> time_runs(const std::function<void()>& work, const TimingOptions& options) {
  for (std::int64_t i = 0; i < options.dropped; ++i) work();
  std::vector<double> durations;
  const auto begin = Clock::now();
  for (auto last = begin;;) {
    work();
    const auto now = Clock::now();
    durations.push_back(seconds_between(last, now));
    last = now;
    const double spent = seconds_between(begin, now);
    const auto runs = static_cast<std::int64_t>(durations.size());
    const bool enough = spent >= options.seconds && runs >= options.runs;
    if (enough || spent >= options.most_seconds || runs >= options.most_runs) return durations;
  }
}

Spread spread_of(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return {.median = at_share(seconds, 0.5),
          .low = at_share(seconds, 0.05),
          .high = at_share(seconds, 0.95),
          .samples = static_cast<std::int64_t>(seconds.size())};
}

}  // namespace plimsoll
