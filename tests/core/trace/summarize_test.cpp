#include "core/trace/summarize.h"

#include <catch2/catch.hpp>
#include <numeric>

#include "tests/core/trace/random_tiny_plan.h"
#include "tests/core/trace/random_trace.h"

using namespace plimsoll;

namespace {

TraceEvent event(std::uint32_t instruction, std::int64_t start, std::int64_t end, std::uint32_t step = 0) {
  return {.step = step, .instruction = instruction, .start = Nanoseconds(start), .end = Nanoseconds(end)};
}

StepSummary summary(std::uint32_t step, std::int64_t start, std::int64_t end) {
  return {.step = step, .start = Nanoseconds(start), .end = Nanoseconds(end)};
}

/// One instruction on each kind of queue: forward (0), backward (1), CPU optimizer (2), copy (3), storage (4), load
/// (5).
Plan one_of_each() {
  TinyPlan tiny;
  const QueueId compute = tiny.queue(QueueKind::kCompute);
  tiny.launch(compute, 1, {}, {}, Phase::kForward);
  tiny.launch(compute, 1, {}, {}, Phase::kBackward);
  tiny.launch(tiny.queue(QueueKind::kHostCompute), 1, {}, {}, Phase::kOptimizer);
  tiny.marker(tiny.queue(QueueKind::kCopy));
  tiny.marker(tiny.queue(QueueKind::kStorage, 4));
  tiny.marker(tiny.queue(QueueKind::kHostWork));
  return tiny.build();
}

}  // namespace

TEST_CASE("a moment counts as compute before the CPU optimizer, copies, storage, loading and idleness") {
  const Plan plan = one_of_each();
  const FlatBody body = expand(plan, plan.bodies[0]);
  Trace trace;
  // load 0-10 | copy 5-25 | forward 20-30 | backward 30-50 | storage 45-70 | CPU optimizer 60-80 | idle 80-90 | load
  // 90-100
  trace.events = {event(0, 20, 30), event(1, 30, 50), event(2, 60, 80),
                  event(3, 5, 25),  event(4, 45, 70), event(5, 0, 10)};
  trace.steps = {summary(0, 0, 100)};
  const StepBreakdown parts = break_down(plan, body, trace, 0);
  CHECK(parts.duration == Nanoseconds(100));
  CHECK(parts.at(TimePart::kLoad) == Nanoseconds(5));       // 0-5, then the copy outranks it
  CHECK(parts.at(TimePart::kTransfer) == Nanoseconds(15));  // 5-20
  CHECK(parts.at(TimePart::kForward) == Nanoseconds(10));
  CHECK(parts.at(TimePart::kBackward) == Nanoseconds(20));
  CHECK(parts.at(TimePart::kStorage) == Nanoseconds(10));    // 50-60
  CHECK(parts.at(TimePart::kOptimizer) == Nanoseconds(20));  // 60-80
  CHECK(parts.at(TimePart::kIdle) == Nanoseconds(20));       // 80-100
}

TEST_CASE("work for the next step counts in the step during which it runs") {
  const Plan plan = one_of_each();
  const FlatBody body = expand(plan, plan.bodies[0]);
  Trace trace;
  for (std::uint32_t step = 0; step < 2; ++step) {
    for (std::uint32_t id = 0; id < 5; ++id)
      trace.events.push_back(event(id, 60 * step, 60 * step + (id == 0 ? 40 : 0), step));
    trace.events.push_back(step == 0 ? event(5, 0, 0, 0) : event(5, 50, 70, 1));
  }
  trace.steps = {summary(0, 0, 60), summary(1, 60, 100)};
  const StepBreakdown first = break_down(plan, body, trace, 0);
  CHECK(first.at(TimePart::kForward) == Nanoseconds(40));
  CHECK(first.at(TimePart::kLoad) == Nanoseconds(10));  // 50-60 of the next step's 50-70
  CHECK(first.at(TimePart::kIdle) == Nanoseconds(10));
  CHECK(break_down(plan, body, trace, 1).at(TimePart::kForward) == Nanoseconds(40));
  CHECK(busy_by_queue(plan, body, trace, 0)[4] == Nanoseconds(10));
  CHECK(busy_by_queue(plan, body, trace, 1)[4] == Nanoseconds(10));
  CHECK(work_by_queue(plan, body, trace, 0)[4] == Nanoseconds(0));
  CHECK(work_by_queue(plan, body, trace, 1)[4] == Nanoseconds(20));  // its own 50-70, also before its window
}

TEST_CASE("the parts of a step add up to its duration exactly") {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    const Plan plan = random_tiny_plan(seed);
    const FlatBody body = expand(plan, plan.bodies[0]);
    const Trace trace = random_trace(body, 3, seed);
    for (std::uint32_t step = 0; step < 3; ++step) {
      const StepBreakdown breakdown = break_down(plan, body, trace, step);
      REQUIRE(breakdown.duration == trace.steps[step].duration());
      REQUIRE(std::accumulate(breakdown.parts.begin(), breakdown.parts.end(), Nanoseconds(0)) == breakdown.duration);
      for (const Nanoseconds part : breakdown.parts) REQUIRE(part >= Nanoseconds(0));
    }
  }
}

TEST_CASE("a wide queue's overlapping instructions are busy time once") {
  TinyPlan tiny;
  const QueueId wide = tiny.queue(QueueKind::kStorage, 2);
  for (int i = 0; i < 3; ++i) tiny.marker(wide);
  const Plan plan = tiny.build();
  Trace trace;
  trace.events = {event(0, 0, 10), event(1, 5, 20), event(2, 30, 40)};
  trace.steps = {summary(0, 0, 40)};
  CHECK(busy_by_queue(plan, expand(plan, plan.bodies[0]), trace, 0) == std::vector<Nanoseconds>{Nanoseconds(30)});
}

TEST_CASE("no queue is busy for longer than the step") {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    const Plan plan = random_tiny_plan(seed);
    const FlatBody body = expand(plan, plan.bodies[0]);
    const Trace trace = random_trace(body, 2, seed);
    for (const Nanoseconds busy : busy_by_queue(plan, body, trace, 1)) CHECK(busy <= trace.steps[1].duration());
  }
}

TEST_CASE("the median step leaves out what is before the steady state") {
  Trace trace;
  trace.steps = {summary(0, 0, 100), summary(1, 100, 110), summary(2, 110, 140), summary(3, 140, 160)};
  CHECK(median_step(trace, 1) == Nanoseconds(20));  // of 10, 30, 20
  CHECK(median_step(trace, 0) == Nanoseconds(20));  // of 10, 20, 30, 100 the lower middle one: a step that happened
  CHECK(median_step(trace, 4) == Nanoseconds(0));
}
