#include "sim/cost/probe_statistics.h"

#include <algorithm>

namespace plimsoll {

Result<SampleStatistics> statistics_of(const MachineProbe& probe) {
  SampleStatistics statistics;
  for (const ProbedCost& cost : probe.costs) {
    const auto key = parse_cost_key(cost.work);
    if (!key) return fail(key.error());
    const Spread& known = cost.nanoseconds;
    statistics.keys[*key] = {.expected_ns = known.median,
                             .low_ns = known.low,
                             .high_ns = known.high,
                             .samples = static_cast<std::size_t>(known.samples)};
    statistics.count.samples += static_cast<std::size_t>(known.samples);
  }
  statistics.count.keys = statistics.keys.size();
  statistics.plans = probe.plans;
  std::sort(statistics.plans.begin(), statistics.plans.end());
  return statistics;
}

}  // namespace plimsoll
