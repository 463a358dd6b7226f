#include "sim/sampling/typical_steps.h"

#include <algorithm>

namespace plimsoll {

std::set<std::uint32_t> typical_steps(const std::vector<StepSummary>& steps) {
  std::vector<StepSummary> ranked(steps.begin() + (steps.size() < 3 ? 0 : 1), steps.end());
  std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.duration() < b.duration(); });
  const std::size_t aside = ranked.size() < 3 ? 0 : (ranked.size() + 2) / 4;  // at either end; one of three
  std::set<std::uint32_t> typical;
  for (std::size_t i = aside; i < ranked.size() - aside; ++i) typical.insert(ranked[i].step);
  return typical;
}

std::vector<StepSummary> traced_steps(const Trace& trace) {
  std::set<std::uint32_t> with_events;
  for (const TraceEvent& event : trace.events) with_events.insert(event.step);
  std::vector<StepSummary> traced;
  for (const StepSummary& step : trace.steps) {
    if (with_events.contains(step.step)) traced.push_back(step);
  }
  return traced;
}

}  // namespace plimsoll
