#include "core/trace/step_window.h"

#include <algorithm>

namespace plimsoll {
namespace {

const TraceEvent* first_event_of(const Trace& trace, std::uint32_t step) {
  const auto found =
      std::lower_bound(trace.events.begin(), trace.events.end(), step,
                       [](const TraceEvent& event, std::uint32_t wanted) { return event.step < wanted; });
  return trace.events.data() + (found - trace.events.begin());
}

}  // namespace

StepWindow step_window(const Trace& trace, std::uint32_t step) {
  for (const StepSummary& summary : trace.steps) {
    if (summary.step == step) return {summary.start, summary.end};
  }
  return {};
}

std::span<const TraceEvent> events_of_step(const Trace& trace, std::uint32_t step) {
  const TraceEvent* const end = trace.events.data() + trace.events.size();
  const TraceEvent* const first = first_event_of(trace, step);
  return {first, std::partition_point(first, end, [step](const TraceEvent& event) { return event.step == step; })};
}

std::span<const TraceEvent> events_around_step(const Trace& trace, std::uint32_t step) {
  const Nanoseconds window_end = step_window(trace, step).end;
  const TraceEvent* const end = trace.events.data() + trace.events.size();
  const TraceEvent* const first = first_event_of(trace, step);
  const TraceEvent* last = first;
  while (last != end) {
    // A queue starts its instructions in order, so once no event of a step began in time, none of a later step did.
    const std::uint32_t current = last->step;
    const TraceEvent* const next = std::find_if(last, end, [&](const TraceEvent& e) { return e.step != current; });
    const bool began = std::any_of(last, next, [&](const TraceEvent& event) { return event.start < window_end; });
    if (current != step && !began) break;
    last = next;
  }
  return {first, last};
}

}  // namespace plimsoll
