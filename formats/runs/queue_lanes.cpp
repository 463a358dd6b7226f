#include "formats/runs/queue_lanes.h"

#include <algorithm>
#include <numeric>

namespace plimsoll {

QueueLanes assign_lanes(const Plan& plan, const FlatBody& body, const Trace& trace) {
  QueueLanes lanes{.lane = std::vector<std::uint32_t>(trace.events.size()),
                   .count = std::vector<std::uint32_t>(plan.platform.queues.size(), 1)};
  std::vector<std::size_t> order(trace.events.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return trace.events[a].start < trace.events[b].start; });
  std::vector<std::vector<Nanoseconds>> busy_until(plan.platform.queues.size());
  for (const std::size_t e : order) {
    const TraceEvent& event = trace.events[e];
    const std::uint32_t queue = body.list.instructions[event.instruction].queue.index;
    std::vector<Nanoseconds>& ends = busy_until[queue];
    const auto free = std::find_if(ends.begin(), ends.end(), [&](Nanoseconds end) { return end <= event.start; });
    lanes.lane[e] = static_cast<std::uint32_t>(free - ends.begin());
    if (free == ends.end())
      ends.push_back(event.end);
    else
      *free = event.end;
    lanes.count[queue] = std::max(lanes.count[queue], static_cast<std::uint32_t>(ends.size()));
  }
  return lanes;
}

}  // namespace plimsoll
