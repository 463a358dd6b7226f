#include "executor/cpu/dispatcher.h"

#include <algorithm>

namespace plimsoll {

bool Dispatcher::Ended::contains(std::uint32_t step) const {
  return step < prefix || std::find(beyond.begin(), beyond.end(), step) != beyond.end();
}

void Dispatcher::Ended::add(std::uint32_t step) {
  beyond.push_back(step);
  for (auto at = beyond.end(); (at = std::find(beyond.begin(), beyond.end(), prefix)) != beyond.end(); ++prefix) {
    beyond.erase(at);
  }
}

Dispatcher::Dispatcher(const Platform& platform, const FlatBody& body, std::uint32_t steps)
    : body_(body), steps_(steps), lanes_(platform.queues.size()), ended_(body.size()) {
  for (std::size_t q = 0; q < lanes_.size(); ++q) lanes_[q].width = platform.queues[q].width;
  for (std::uint32_t id = 0; id < body.size(); ++id) {
    lanes_[body.list.instructions[id].queue.index].order.push_back(id);
  }
  if (body.size() == 0) ended_steps_ = steps_;
}

bool Dispatcher::exhausted(QueueId queue) const {
  const Lane& lane = lanes_[queue.index];
  return lane.order.empty() || lane.step >= steps_;
}

bool Dispatcher::satisfied(std::uint32_t instruction, std::uint32_t step) const {
  for (const Dependency& dependency : body_.dependencies(body_.list.instructions[instruction])) {
    if (dependency.distance > step) continue;
    if (!ended_[dependency.target].contains(step - dependency.distance)) return false;
  }
  return true;
}

bool Dispatcher::ready(QueueId queue) const {
  const Lane& lane = lanes_[queue.index];
  return !exhausted(queue) && lane.running < lane.width && satisfied(lane.order[lane.next], lane.step);
}

std::optional<StepInstruction> Dispatcher::start(QueueId queue) {
  if (!ready(queue)) return std::nullopt;
  Lane& lane = lanes_[queue.index];
  const StepInstruction started{.step = lane.step, .instruction = lane.order[lane.next]};
  ++lane.running;
  if (++lane.next == lane.order.size()) {
    lane.next = 0;
    ++lane.step;
  }
  started_steps_ = std::max(started_steps_, started.step + 1);
  return started;
}

void Dispatcher::end(StepInstruction done) {
  --lanes_[body_.list.instructions[done.instruction].queue.index].running;
  ended_[done.instruction].add(done.step);
  count_towards_step(done.step);
}

void Dispatcher::count_towards_step(std::uint32_t step) {
  const std::size_t place = step - ended_steps_;
  if (open_.size() <= place) open_.resize(place + 1, body_.size());
  --open_[place];
  while (!open_.empty() && open_.front() == 0) {
    open_.pop_front();
    ++ended_steps_;
  }
}

void Dispatcher::stop() { steps_ = std::min(steps_, started_steps_); }

}  // namespace plimsoll
