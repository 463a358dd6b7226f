#include "core/trace/summarize.h"

#include <algorithm>
#include <optional>
#include <span>

#include "core/trace/step_window.h"

namespace plimsoll {
namespace {

/// A moment at which an event of a part begins (+1) or ends (-1).
struct Edge {
  Nanoseconds time;
  std::size_t part;
  int change;
};

TimePart part_of_phase(Phase phase) {
  switch (phase) {
    case Phase::kLoad:
      return TimePart::kLoad;
    case Phase::kForward:
      return TimePart::kForward;
    case Phase::kBackward:
      return TimePart::kBackward;
    case Phase::kOptimizer:
      return TimePart::kOptimizer;
  }
  return TimePart::kIdle;
}

TimePart part_of(const Instruction& instruction, QueueKind queue) {
  switch (queue) {
    case QueueKind::kCompute:
      return part_of_phase(instruction.phase);
    case QueueKind::kHostCompute:
      return TimePart::kOptimizer;
    case QueueKind::kCopy:
    case QueueKind::kCommunication:
      return TimePart::kTransfer;
    case QueueKind::kStorage:
      return TimePart::kStorage;
    case QueueKind::kHostWork:
      return TimePart::kLoad;
  }
  return TimePart::kIdle;
}

/// The event's share of a window, if it has one.
std::optional<StepWindow> inside(const TraceEvent& event, const StepWindow& window) {
  const StepWindow clipped{std::max(event.start, window.begin), std::min(event.end, window.end)};
  if (clipped.begin >= clipped.end) return std::nullopt;
  return clipped;
}

std::vector<Edge> edges_of(const Plan& plan, const FlatBody& body, std::span<const TraceEvent> events,
                           const StepWindow& window) {
  std::vector<Edge> edges;
  edges.reserve(2 * events.size());
  for (const TraceEvent& event : events) {
    const std::optional<StepWindow> clipped = inside(event, window);
    if (!clipped) continue;
    const Instruction& instruction = body.list.instructions[event.instruction];
    const auto part = static_cast<std::size_t>(part_of(instruction, plan.platform.at(instruction.queue).kind));
    edges.push_back({clipped->begin, part, +1});
    edges.push_back({clipped->end, part, -1});
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.time < b.time; });
  return edges;
}

/// Time that at least one of the intervals covers.
Nanoseconds covered(std::vector<StepWindow>& intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const StepWindow& a, const StepWindow& b) { return a.begin < b.begin; });
  Nanoseconds sum;
  Nanoseconds reached{INT64_MIN};
  for (const StepWindow& interval : intervals) {
    const Nanoseconds from = std::max(interval.begin, reached);
    if (interval.end > from) sum += interval.end - from;
    reached = std::max(reached, interval.end);
  }
  return sum;
}

/// Time of each queue that the events cover inside the window.
std::vector<Nanoseconds> covered_by_queue(const Plan& plan, const FlatBody& body, std::span<const TraceEvent> events,
                                          const StepWindow& window) {
  std::vector<std::vector<StepWindow>> intervals(plan.platform.queues.size());
  for (const TraceEvent& event : events) {
    const std::optional<StepWindow> clipped = inside(event, window);
    if (!clipped) continue;
    const Instruction& instruction = body.list.instructions[event.instruction];
    intervals[instruction.queue.index].push_back(*clipped);
    for (const QueueId member : body.members(instruction)) intervals[member.index].push_back(*clipped);
  }
  std::vector<Nanoseconds> busy;
  for (std::vector<StepWindow>& queue : intervals) busy.push_back(covered(queue));
  return busy;
}

}  // namespace

StepBreakdown break_down(const Plan& plan, const FlatBody& body, const Trace& trace, std::uint32_t step) {
  const StepWindow window = step_window(trace, step);
  StepBreakdown breakdown{.duration = window.end - window.begin};
  std::array<int, kTimeParts> running{};
  running[static_cast<std::size_t>(TimePart::kIdle)] = 1;  // the last in rank: what nothing else claims

  Nanoseconds reached = window.begin;
  const auto account_until = [&](Nanoseconds time) {
    const auto first = std::find_if(running.begin(), running.end(), [](int count) { return count > 0; });
    breakdown.parts[static_cast<std::size_t>(first - running.begin())] += time - reached;
    reached = time;
  };
  for (const Edge& edge : edges_of(plan, body, events_around_step(trace, step), window)) {
    account_until(edge.time);
    running[edge.part] += edge.change;
  }
  account_until(window.end);
  return breakdown;
}

std::vector<Nanoseconds> busy_by_queue(const Plan& plan, const FlatBody& body, const Trace& trace, std::uint32_t step) {
  return covered_by_queue(plan, body, events_around_step(trace, step), step_window(trace, step));
}

std::vector<Nanoseconds> work_by_queue(const Plan& plan, const FlatBody& body, const Trace& trace, std::uint32_t step) {
  constexpr StepWindow kAlways{Nanoseconds(0), Nanoseconds(INT64_MAX)};
  return covered_by_queue(plan, body, events_of_step(trace, step), kAlways);
}

std::uint32_t steady_step(const Trace& simulated) {
  const std::size_t count = simulated.steps.size();
  if (count == 0) return 0;
  return simulated.steps[count < 3 ? count - 1 : count - 2].step;
}

Nanoseconds median_step(const Trace& trace, std::uint32_t first) {
  std::vector<Nanoseconds> durations;
  for (const StepSummary& summary : trace.steps) {
    if (summary.step >= first) durations.push_back(summary.duration());
  }
  if (durations.empty()) return {};
  const auto middle = durations.begin() + static_cast<std::ptrdiff_t>((durations.size() - 1) / 2);
  std::nth_element(durations.begin(), middle, durations.end());
  return *middle;
}

std::string_view to_text(TimePart part) {
  switch (part) {
    case TimePart::kForward:
      return "forward";
    case TimePart::kBackward:
      return "backward";
    case TimePart::kOptimizer:
      return "optimizer";
    case TimePart::kTransfer:
      return "transfer";
    case TimePart::kStorage:
      return "storage";
    case TimePart::kLoad:
      return "load";
    case TimePart::kIdle:
      return "idle";
  }
  return "?";
}

}  // namespace plimsoll
