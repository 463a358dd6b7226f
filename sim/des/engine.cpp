#include "sim/des/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/mix64.h"

namespace plimsoll {

Engine::Engine(const Plan& plan, const FlatBody& body, const WorkTable& works, const SimulateOptions& options)
    : body_(body),
      works_(works),
      options_(options),
      per_step_(static_cast<std::uint32_t>(body.size())),
      sleepers_(body.size() * options.steps, kNobody),
      step_end_(options.steps),
      shared_(plan.platform.resources),
      unfinished_(body.size() * options.steps) {
  sort_into_lanes(plan);
}

void Engine::sort_into_lanes(const Plan& plan) {
  lanes_.resize(plan.platform.queues.size());
  for (const Instruction& instruction : body_.list.instructions) ++lanes_[instruction.queue.index].end;
  std::uint32_t begin = 0;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i];
    lane.width = plan.platform.queues[i].width;
    lane.begin = lane.next = begin;
    begin += lane.end;
    lane.end = lane.begin;
  }
  lane_ids_.resize(per_step_);
  for (std::uint32_t id = 0; id < per_step_; ++id) {
    lane_ids_[lanes_[body_.list.instructions[id].queue.index].end++] = id;
  }
  for (Lane& lane : lanes_) {
    if (lane.begin == lane.end) lane.step = options_.steps;
  }
}

Result<void> Engine::run(Trace& trace) {
  trace_ = &trace;
  if (options_.keep_events) trace.events.resize(unfinished_);
  for (std::uint32_t lane = 0; lane < lanes_.size(); ++lane) advance(lane);
  while (unfinished_ > 0) {
    shared_.settle(now_);
    const Nanoseconds next = std::min(Nanoseconds(events_.next_time()), shared_.next_end());
    if (next.count == INT64_MAX) return fail(stuck());
    now_ = next;
    while (events_.next_time() == now_.count) happen(events_.pop());
    ended_now_.clear();
    shared_.take_ended(now_, ended_now_);
    for (const std::uint32_t instance : ended_now_) end(instance);
  }
  Nanoseconds before;
  for (std::uint32_t step = 0; step < options_.steps; ++step) {
    const Nanoseconds step_end = std::max(before, step_end_[step]);
    trace.steps.push_back({.step = step, .start = before, .end = step_end});
    before = step_end;
  }
  return {};
}

void Engine::advance(std::uint32_t index) {
  Lane& lane = lanes_[index];
  while (!lane.asleep && lane.running < lane.width && lane.step < options_.steps) {
    const std::uint32_t instruction = lane_ids_[lane.next];
    if (!dependencies_ended(index, instruction)) return;
    const std::uint32_t step = lane.step;
    lane.dependency = 0;
    ++lane.running;
    if (++lane.next == lane.end) {
      lane.next = lane.begin;
      ++lane.step;
    }
    start(step, instruction);
  }
}

bool Engine::dependencies_ended(std::uint32_t index, std::uint32_t instruction) {
  Lane& lane = lanes_[index];
  const auto dependencies = body_.dependencies(body_.list.instructions[instruction]);
  for (; lane.dependency < dependencies.size(); ++lane.dependency) {
    const Dependency& dependency = dependencies[lane.dependency];
    if (dependency.distance > lane.step) continue;  // before the first step: satisfied
    std::uint32_t& sleeper = sleepers_[(lane.step - dependency.distance) * per_step_ + dependency.target];
    if (sleeper == kEnded) continue;
    lane.next_sleeper = sleeper;
    lane.asleep = true;
    sleeper = index;
    return false;
  }
  return true;
}

void Engine::start(std::uint32_t step, std::uint32_t instruction) {
  const Work& work = works_.of(instruction);
  const std::uint32_t instance = step * per_step_ + instruction;
  const bool run = runs(step, instruction);
  const Nanoseconds begin = now_ + work.overhead;
  if (options_.keep_events) {
    trace_->events[instance] = {.step = step,
                                .instruction = instruction,
                                .start = begin,
                                .status = run ? EventStatus::kPredicted : EventStatus::kSkipped};
  }
  if (!run) {
    expect(begin, instance, Happening::kEnd);
  } else if (work.demands.empty()) {
    expect(begin + work.latency + work.duration, instance, Happening::kEnd);
  } else {
    expect(begin + work.latency, instance, Happening::kStartSharing);
  }
}

void Engine::happen(const PendingEvent& event) {
  const auto instance = static_cast<std::uint32_t>(event.id >> 1);
  if (static_cast<Happening>(event.id & 1) == Happening::kEnd) {
    end(instance);
  } else {
    const Work& work = works_.of(instance % per_step_);
    shared_.add(now_, instance, work.activity(), work.duration);
  }
}

void Engine::end(std::uint32_t instance) {
  const std::uint32_t step = instance / per_step_;
  const std::uint32_t lane = body_.list.instructions[instance - step * per_step_].queue.index;
  if (options_.keep_events) trace_->events[instance].end = now_;
  step_end_[step] = now_;
  --unfinished_;
  --lanes_[lane].running;
  std::uint32_t sleeper = sleepers_[instance];
  sleepers_[instance] = kEnded;
  while (sleeper != kNobody) {
    const std::uint32_t next = lanes_[sleeper].next_sleeper;
    lanes_[sleeper].asleep = false;
    advance(sleeper);
    sleeper = next;
  }
  advance(lane);
}

bool Engine::runs(std::uint32_t step, std::uint32_t instruction) const {
  const Instruction& guarded = body_.list.instructions[instruction];
  if (guarded.guard == kNoGuard) return true;
  const std::uint32_t flag = body_.uses(guarded)[guarded.guard].target;
  const std::uint64_t bits = mix64((std::uint64_t{step} << 32) | flag) >> 11;  // 53 bits: [0, 1) exactly
  return static_cast<double>(bits) * 0x1p-53 < options_.guard_probability;
}

void Engine::expect(Nanoseconds when, std::uint32_t instance, Happening what) {
  events_.push({when.count, (std::uint64_t{instance} << 1) | static_cast<std::uint64_t>(what)});
}

Error Engine::stuck() const {
  const auto lane = std::find_if(lanes_.begin(), lanes_.end(), [&](const Lane& l) { return l.step < options_.steps; });
  return {ErrorKind::kDefect,
          fmt::format("instruction {} of step {} can never start: its queue has no width, or it waits for itself",
                      lane_ids_[lane->next], lane->step),
          "", "verify the plan"};
}

}  // namespace plimsoll
