#include "profiler/microbench/timing.h"

#include <chrono>

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
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

}  // namespace plimsoll
