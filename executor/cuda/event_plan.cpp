#include "executor/cuda/event_plan.h"

#include <algorithm>

#include "core/plan/happens_before.h"

namespace plimsoll {
namespace {

/// Dependencies as positions among steps laid one after another, the newest first: what they imply is known by then.
std::vector<std::uint32_t> positions_of(const FlatBody& body, std::uint32_t id, std::uint32_t step) {
  std::vector<std::uint32_t> positions;
  const auto size = static_cast<std::uint32_t>(body.size());
  for (const Dependency& dependency : body.dependencies(body.list.instructions[id])) {
    if (dependency.distance <= step) positions.push_back((step - dependency.distance) * size + dependency.target);
  }
  std::sort(positions.rbegin(), positions.rend());
  return positions;
}

}  // namespace

bool is_device_queue(const Platform& platform, QueueId queue) {
  return platform.at(platform.at(queue).processor).kind == ProcessorKind::kGpu;
}

EventPlan plan_events(const Platform& platform, const FlatBody& body) {
  const auto size = static_cast<std::uint32_t>(body.size());
  EventPlan plan{.waits = std::vector<std::vector<EventPlan::Wait>>(size), .records = std::vector<char>(size, 0)};
  for (const Dependency& dependency : body.list.dependencies) {
    plan.longest_distance = std::max(plan.longest_distance, dependency.distance);
  }
  const std::uint32_t last = plan.longest_distance;  // the first step in which every dependency exists stands for all
  HappensBefore order(platform);
  for (std::uint32_t step = 0; step <= last; ++step) {
    for (std::uint32_t id = 0; id < size; ++id) {
      const Instruction& instruction = body.list.instructions[id];
      order.begin(instruction.queue, body.members(instruction));
      for (const std::uint32_t position : positions_of(body, id, step)) {
        const QueueId queue = body.list.instructions[position % size].queue;
        const bool implied = order.ordered_before_open(position, order.lane(queue));
        if (!implied && step == last && is_device_queue(platform, queue)) {
          plan.waits[id].push_back({.target = position % size, .distance = step - position / size});
          plan.records[position % size] = 1;
        }
        if (!implied) order.depend(position);
      }
      order.end();
    }
  }
  return plan;
}

}  // namespace plimsoll
