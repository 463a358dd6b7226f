#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "tests/core/trace/tiny_plan.h"

namespace plimsoll {

struct RandomTinyPlanOptions {
  std::uint32_t instructions = 60;
  bool shared = true;      ///< queues and links demand resources that can run short
  std::int64_t width = 3;  ///< of the widest queues
};

/// A random plan whose instructions have random costs, queues, buffers and dependencies (also on earlier steps). It
/// obeys the order of ids and nothing else: its buffers have no offsets.
inline Plan random_tiny_plan(std::uint32_t seed, const RandomTinyPlanOptions& options = {}) {
  std::mt19937 random(seed);
  const auto below = [&random](std::uint32_t limit) { return static_cast<std::uint32_t>(random() % limit); };
  TinyPlan tiny;
  const ResourceId cores = tiny.resource("cores", options.shared ? 3.0 : 1e18);
  const ResourceId bus = tiny.resource("bus", options.shared ? 1.5e9 : 1e18);
  tiny.link(TinyPlan::kHost, TinyPlan::kDevice, Nanoseconds(below(20)), {{bus, 1.0}});
  tiny.link(TinyPlan::kDevice, TinyPlan::kHost, Nanoseconds(below(20)), {{bus, 1.0}});

  constexpr QueueKind kKinds[] = {QueueKind::kCompute, QueueKind::kHostCompute, QueueKind::kCopy, QueueKind::kStorage};
  std::vector<QueueId> queues;
  for (const QueueKind kind : kKinds) {
    const std::int64_t width = 1 + below(static_cast<std::uint32_t>(options.width));
    queues.push_back(tiny.queue(kind, width, {{cores, 0.5 + below(3)}}));
  }
  std::vector<BufferId> buffers;
  for (std::uint32_t i = 0; i < 10; ++i) {
    const SpaceId space = i % 2 == 0 ? TinyPlan::kDevice : TinyPlan::kHost;
    buffers.push_back(tiny.buffer(space, 1 + below(200), static_cast<TensorKind>(below(11)), i < 2, 1 + below(2)));
  }
  for (std::uint32_t id = 0; id < options.instructions; ++id) {
    std::vector<Dependency> dependencies;
    for (std::uint32_t n = below(3); n > 0 && id > 0; --n) dependencies.push_back(after(below(id)));
    if (below(10) == 0) dependencies.push_back(after(below(id + 1), 1 + below(2)));
    const QueueId queue = queues[below(4)];
    const BufferId one = buffers[2 * below(5)];
    const BufferId two = buffers[2 * below(5) + 1];
    if (below(3) == 0) {
      tiny.copy(queue, one, two, std::move(dependencies));
    } else {
      tiny.launch(queue, below(100), std::move(dependencies), {tiny.whole(one, Access::kRead)},
                  static_cast<Phase>(below(4)));
    }
  }
  return tiny.build();
}

}  // namespace plimsoll
