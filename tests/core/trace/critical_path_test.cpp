#include "core/trace/critical_path.h"

#include <catch2/catch.hpp>

#include "tests/core/trace/tiny_plan.h"

using namespace plimsoll;

namespace {

TraceEvent event(std::uint32_t instruction, std::int64_t start, std::int64_t end, std::uint32_t step = 0) {
  return {.step = step, .instruction = instruction, .start = Nanoseconds(start), .end = Nanoseconds(end)};
}

std::vector<CriticalEvent> path_of(const Plan& plan, std::vector<TraceEvent> events, std::uint32_t step = 0) {
  Trace trace;
  trace.events = std::move(events);
  return critical_path(plan, expand(plan, plan.bodies[0]), trace, step);
}

}  // namespace

TEST_CASE("the critical path leads back through what ended last") {
  // a 0-10 on one queue; b 0-30 on another; c after a, b's queue: 30-35; d after a on a's queue: 10-20.
  TinyPlan tiny;
  const QueueId one = tiny.queue(QueueKind::kCompute);
  const QueueId two = tiny.queue(QueueKind::kCopy);
  const auto a = tiny.launch(one, 10);
  tiny.launch(two, 30);
  const auto c = tiny.launch(two, 5, {after(a)});
  tiny.launch(one, 10, {after(a)});
  tiny.launch(one, 1, {after(c)});  // 37-38: dispatched 2 ns late
  const auto path =
      path_of(tiny.build(), {event(0, 0, 10), event(1, 0, 30), event(2, 30, 35), event(3, 10, 20), event(4, 37, 38)});
  REQUIRE(path.size() == 3);
  CHECK(path[0].instruction == 1);
  CHECK(path[0].cause == CriticalCause::kStepBefore);
  CHECK(path[1].instruction == 2);
  CHECK(path[1].cause == CriticalCause::kQueue);
  CHECK(path[1].waited == Nanoseconds(0));
  CHECK(path[2].instruction == 4);
  CHECK(path[2].cause == CriticalCause::kDependency);
  CHECK(path[2].waited == Nanoseconds(2));
}

TEST_CASE("of a dependency and a queue predecessor that ended together the dependency is named") {
  TinyPlan tiny;
  const QueueId one = tiny.queue(QueueKind::kCompute);
  const QueueId two = tiny.queue(QueueKind::kCopy);
  tiny.launch(one, 10);
  tiny.launch(two, 10);
  tiny.launch(two, 5, {after(0)});
  const auto path = path_of(tiny.build(), {event(0, 0, 10), event(1, 0, 10), event(2, 10, 15)});
  REQUIRE(path.size() == 2);
  CHECK(path[0].instruction == 0);
  CHECK(path[1].cause == CriticalCause::kDependency);
}

TEST_CASE("the path ends where an earlier step held an instruction up") {
  // Step 1: b (20-30) waits for its queue, where step 0's b ended at 20, not for step 1's a, which ended at 12.
  TinyPlan tiny;
  const auto a = tiny.launch(tiny.queue(QueueKind::kCompute), 6);
  tiny.launch(tiny.queue(QueueKind::kCopy), 10, {after(a)});
  const auto path =
      path_of(tiny.build(), {event(0, 0, 6), event(1, 10, 20), event(0, 6, 12, 1), event(1, 20, 30, 1)}, 1);
  REQUIRE(path.size() == 1);
  CHECK(path[0].instruction == 1);
  CHECK(path[0].cause == CriticalCause::kStepBefore);
}

TEST_CASE("on a wide queue the one that freed a place is the cause") {
  // Width 2: a 0-10, b 0-30, c 10-40 took a's place.
  TinyPlan tiny;
  const QueueId wide = tiny.queue(QueueKind::kStorage, 2);
  for (int i = 0; i < 3; ++i) tiny.launch(wide, 10);
  const auto path = path_of(tiny.build(), {event(0, 0, 10), event(1, 0, 30), event(2, 10, 40)});
  REQUIRE(path.size() == 2);
  CHECK(path[0].instruction == 0);
  CHECK(path[1].cause == CriticalCause::kQueue);
}

TEST_CASE("a wide queue that was never full is no cause") {
  // Width 3: the third starts late at 15 for a reason that is not in the plan.
  TinyPlan tiny;
  const QueueId wide = tiny.queue(QueueKind::kStorage, 3);
  for (int i = 0; i < 3; ++i) tiny.launch(wide, 10);
  const auto path = path_of(tiny.build(), {event(0, 0, 10), event(1, 0, 10), event(2, 15, 40)});
  REQUIRE(path.size() == 1);
  CHECK(path[0].instruction == 2);
}

TEST_CASE("on a wide queue what held up the one in front held up the one behind it") {
  // Width 2: a 0-10; b waits for x (0-20) and starts at 20; c could have started at 0 but not before b.
  TinyPlan tiny;
  const QueueId wide = tiny.queue(QueueKind::kStorage, 2);
  const auto x = tiny.launch(tiny.queue(QueueKind::kCompute), 20);
  tiny.launch(wide, 10);
  tiny.launch(wide, 5, {after(x)});
  tiny.launch(wide, 30);
  const auto path = path_of(tiny.build(), {event(0, 0, 20), event(1, 0, 10), event(2, 20, 25), event(3, 20, 50)});
  REQUIRE(path.size() == 2);
  CHECK(path[0].instruction == x);
  CHECK(path[1].instruction == 3);
}

TEST_CASE("a step that was not traced has no critical path") {
  TinyPlan tiny;
  tiny.launch(tiny.queue(QueueKind::kCompute), 20);
  CHECK(path_of(tiny.build(), {event(0, 0, 20)}, 7).empty());
}
