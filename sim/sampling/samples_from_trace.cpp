#include "sim/sampling/samples_from_trace.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/plan/transfers.h"
#include "sim/sampling/alone_times.h"
#include "sim/sampling/typical_steps.h"

namespace plimsoll {
namespace {

/// Reads one trace; events are found by (step, instruction).
class TraceSampler {
 public:
  TraceSampler(const Plan& plan, const FlatBody& body, const Trace& trace) : plan_(plan), body_(body), trace_(trace) {
    for (const auto& event : trace.events) events_[{event.step, event.instruction}] = &event;
    before_.assign(body.size(), kNone);
    std::vector<std::uint32_t> last(plan.platform.queues.size(), kNone);
    for (std::uint32_t id = 0; id < body.size(); ++id) {
      const auto queue = body.list.instructions[id].queue;
      before_[id] = last[queue.index];
      last[queue.index] = id;
    }
    last_ = std::move(last);
  }

  std::vector<Sample> samples() const {
    const auto alone = alone_times(plan_, body_, trace_);
    const auto typical = typical_steps(traced_steps(trace_));
    std::vector<Sample> samples;
    for (std::size_t i = 0; i < trace_.events.size(); ++i) {
      const auto& event = trace_.events[i];
      if (event.status != EventStatus::kMeasured) continue;
      if (!typical.empty() && !typical.contains(event.step)) continue;
      if (auto gap = issue_sample(event)) samples.push_back(std::move(*gap));
      if (const auto key = key_of(body_.list.instructions[event.instruction])) {
        samples.push_back({.key = *key,
                           .duration = alone[i].duration,
                           .plan_digest = trace_.plan_digest,
                           .contended = alone[i].contended});
      }
    }
    return samples;
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;

  [[nodiscard]] std::optional<CostKey> key_of(const Instruction& instruction) const {
    const auto& processor = plan_.platform.at(plan_.platform.at(instruction.queue).processor);
    switch (instruction.kind) {
      case InstructionKind::kLaunch:
        return kernel_key(processor, plan_.at(instruction.kernel));
      case InstructionKind::kHostWork:
        return host_work_key(processor, instruction.task, touched(instruction));
      case InstructionKind::kCopy:
      case InstructionKind::kRead:
      case InstructionKind::kWrite: {
        const Link* link = link_of(plan_, body_, instruction);
        if (link == nullptr) return std::nullopt;
        return transfer_key(plan_.platform, *link, body_.uses(instruction)[0].bytes);
      }
      case InstructionKind::kCollective:
      case InstructionKind::kMarker:
        return std::nullopt;
    }
    return std::nullopt;
  }

  [[nodiscard]] Bytes touched(const Instruction& instruction) const {
    Bytes sum;
    for (const auto& use : body_.uses(instruction)) sum += use.bytes;
    return sum;
  }

  [[nodiscard]] const TraceEvent* event(std::uint32_t step, std::uint32_t instruction) const {
    const auto found = events_.find({step, instruction});
    return found == events_.end() ? nullptr : found->second;
  }

  /// The event before it on its queue, in this step or at the end of the one before.
  [[nodiscard]] const TraceEvent* predecessor(const TraceEvent& e) const {
    if (before_[e.instruction] != kNone) return event(e.step, before_[e.instruction]);
    if (e.step == 0) return nullptr;
    return event(e.step - 1, last_[body_.list.instructions[e.instruction].queue.index]);
  }

  /// When the instruction could have started; nothing when something it waits for was not traced, or there is nothing.
  [[nodiscard]] std::optional<Nanoseconds> ready(const TraceEvent& e) const {
    const auto& instruction = body_.list.instructions[e.instruction];
    std::optional<Nanoseconds> latest;
    const auto wait_for = [&](const TraceEvent* awaited) {
      if (awaited == nullptr) return false;
      latest = std::max(latest.value_or(awaited->end), awaited->end);
      return true;
    };
    if (!wait_for(predecessor(e))) return std::nullopt;
    for (const auto& dependency : body_.dependencies(instruction)) {
      if (dependency.distance > e.step) continue;
      if (!wait_for(event(e.step - dependency.distance, dependency.target))) return std::nullopt;
    }
    return latest;
  }

  [[nodiscard]] std::optional<Sample> issue_sample(const TraceEvent& e) const {
    const auto& instruction = body_.list.instructions[e.instruction];
    const auto& queue = plan_.platform.at(instruction.queue);
    if (queue.width != 1 || instruction.kind == InstructionKind::kMarker ||
        instruction.kind == InstructionKind::kCollective) {
      return std::nullopt;
    }
    const auto could_start = ready(e);
    if (!could_start || *could_start > e.start) return std::nullopt;
    const bool on_device = plan_.platform.at(queue.processor).kind == ProcessorKind::kGpu;
    const Nanoseconds marking = on_device ? trace_.marking : Nanoseconds(0);
    return Sample{.key = issue_key(plan_.platform, queue.kind),
                  .duration = std::max(Nanoseconds(0), e.start - *could_start - marking),
                  .plan_digest = trace_.plan_digest};
  }

  const Plan& plan_;
  const FlatBody& body_;
  const Trace& trace_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, const TraceEvent*> events_;
  std::vector<std::uint32_t> before_;  ///< of each instruction, the one before it on its queue
  std::vector<std::uint32_t> last_;    ///< of each queue
};

}  // namespace

std::vector<Sample> samples_from_trace(const Plan& plan, const FlatBody& body, const Trace& trace) {
  return TraceSampler(plan, body, trace).samples();
}

}  // namespace plimsoll
