#include "core/trace/critical_path.h"

#include <algorithm>
#include <span>
#include <tuple>

#include "core/trace/step_window.h"

namespace plimsoll {
namespace {

/// What may have let an instruction start: the moment, and the instruction of the same step (none: of an earlier step).
struct Enabler {
  static constexpr std::uint32_t kEarlierStep = 0xffffffffu;

  Nanoseconds end{INT64_MIN};
  CriticalCause cause = CriticalCause::kStepBefore;
  std::uint32_t instruction = kEarlierStep;

  /// The later one; of equal ends the dependency, then the larger id. An earlier step comes after its own.
  [[nodiscard]] bool later_than(const Enabler& other) const {
    const auto rank = [](const Enabler& e) {
      const int by_cause = e.cause == CriticalCause::kDependency ? 2 : e.cause == CriticalCause::kQueue ? 1 : 0;
      return std::tuple(e.end, by_cause, by_cause > 0 ? e.instruction : 0);
    };
    return rank(*this) > rank(other);
  }
};

/// Walks one step's events backwards in time.
class PathWalker {
 public:
  PathWalker(const Plan& plan, const FlatBody& body, const Trace& trace, std::uint32_t step)
      : plan_(plan),
        body_(body),
        trace_(trace),
        step_(step),
        events_(events_of_step(trace, step)),
        on_queue_(plan.platform.queues.size()) {
    for (std::uint32_t id = 0; id < body.size(); ++id) {
      for_each_queue(id, [&](QueueId queue) { on_queue_[queue.index].push_back(id); });
    }
  }

  [[nodiscard]] std::vector<CriticalEvent> walk() const {
    std::vector<CriticalEvent> path;
    std::uint32_t id = last_to_end();
    while (true) {
      const Enabler enabler = enabler_of(id);
      const bool first = enabler.instruction == Enabler::kEarlierStep;
      path.push_back({id, enabler.cause, events_[id].start, events_[id].end,
                      first ? Nanoseconds(0) : events_[id].start - enabler.end});
      if (first) break;
      id = enabler.instruction;
    }
    std::reverse(path.begin(), path.end());
    return path;
  }

 private:
  template <typename Visit>
  void for_each_queue(std::uint32_t id, const Visit& visit) const {
    const Instruction& instruction = body_.list.instructions[id];
    visit(instruction.queue);
    for (const QueueId member : body_.members(instruction)) visit(member);
  }

  [[nodiscard]] std::uint32_t last_to_end() const {
    const auto last = std::max_element(events_.begin(), events_.end(), [](const TraceEvent& a, const TraceEvent& b) {
      return std::tie(a.end, a.instruction) < std::tie(b.end, b.instruction);
    });
    return last->instruction;
  }

  [[nodiscard]] Enabler enabler_of(std::uint32_t id) const {
    Enabler best;
    for (const Dependency& dependency : body_.dependencies(body_.list.instructions[id])) {
      consider(best, dependency.distance, dependency.target, CriticalCause::kDependency);
    }
    for_each_queue(id, [&](QueueId queue) { consider_queue(best, queue, id); });
    return best;
  }

  void consider(Enabler& best, std::uint32_t distance, std::uint32_t id, CriticalCause cause) const {
    Enabler candidate;
    if (distance == 0) {
      candidate = {events_[id].end, cause, id};
    } else {
      if (distance > step_) return;
      const std::span<const TraceEvent> earlier = events_of_step(trace_, step_ - distance);
      if (earlier.size() != events_.size()) return;
      candidate.end = earlier[id].end;
    }
    if (candidate.later_than(best)) best = candidate;
  }

  void consider_queue(Enabler& best, QueueId queue, std::uint32_t id) const {
    const std::vector<std::uint32_t>& order = on_queue_[queue.index];
    const auto here = std::lower_bound(order.begin(), order.end(), id);
    const std::int64_t width = plan_.platform.at(queue).width;
    if (width > 1) {
      consider_wide_queue(best, {order.begin(), here}, static_cast<std::size_t>(width));
    } else if (here == order.begin()) {
      consider(best, 1, order.back(), CriticalCause::kQueue);
    } else {
      consider(best, 0, *(here - 1), CriticalCause::kQueue);
    }
  }

  /// On a wide queue all but width - 1 of those before had to end; and the one before had to have started, in which
  /// case what let that one start let this one start too.
  void consider_wide_queue(Enabler& best, std::span<const std::uint32_t> before, std::size_t width) const {
    if (before.size() >= width) {
      std::vector<Enabler> ends;
      for (const std::uint32_t other : before) ends.push_back({events_[other].end, CriticalCause::kQueue, other});
      const auto last_needed = ends.begin() + static_cast<std::ptrdiff_t>(width - 1);
      std::nth_element(ends.begin(), last_needed, ends.end(),
                       [](const Enabler& a, const Enabler& b) { return a.later_than(b); });
      if (last_needed->later_than(best)) best = *last_needed;
    }
    if (!before.empty() && events_[before.back()].start >= best.end) best = enabler_of(before.back());
  }

  const Plan& plan_;
  const FlatBody& body_;
  const Trace& trace_;
  std::uint32_t step_;
  std::span<const TraceEvent> events_;
  std::vector<std::vector<std::uint32_t>> on_queue_;
};

}  // namespace

std::vector<CriticalEvent> critical_path(const Plan& plan, const FlatBody& body, const Trace& trace,
                                         std::uint32_t step) {
  if (body.size() == 0 || events_of_step(trace, step).size() != body.size()) return {};
  return PathWalker(plan, body, trace, step).walk();
}

std::string_view to_text(CriticalCause cause) {
  switch (cause) {
    case CriticalCause::kStepBefore:
      return "step before";
    case CriticalCause::kDependency:
      return "dependency";
    case CriticalCause::kQueue:
      return "queue";
  }
  return "?";
}

}  // namespace plimsoll
