#include "sim/sampling/alone_times.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "core/plan/expand.h"
#include "sim/des/simulate.h"
#include "tests/core/trace/random_tiny_plan.h"
#include "tests/sim/des/fixed_costs.h"
#include "tests/support/plan_writer.h"
#include "tests/support/random_plan.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

TraceEvent event(std::uint32_t id, std::int64_t start, std::int64_t end) {
  return {.step = 0, .instruction = id, .start = Nanoseconds(start), .end = Nanoseconds(end)};
}

/// Copies out and in, a token load, and an optimizer's update on both cores.
struct Four {
  PlanWriter writer;
  std::uint32_t out = 0, in = 0, load = 0, optimizer = 0;

  Four() {
    const auto a = writer.buffer("a", "gpu0", Bytes(0), kMiB);
    const auto b = writer.buffer("b", "host", Bytes(0), kMiB);
    const auto c = writer.buffer("c", "host", kMiB, kMiB);
    const auto d = writer.buffer("d", "gpu0", kMiB, kMiB);
    out = writer.copy(InstructionKind::kCopy, "d2h", read(a), write(b));
    in = writer.copy(InstructionKind::kCopy, "h2d", read(c), write(d));
    load = writer.host_work(HostTask::kLoadTokens, {write(c)});
    optimizer = writer.launch("cpu", OpKind::kAdamW, Phase::kOptimizer, {update(b)});
  }

  std::vector<AloneTime> times(std::vector<TraceEvent> events) { return alone_times(writer.plan(), writer.body(), {.events = std::move(events)}); }
};

std::vector<bool> contended(const std::vector<AloneTime>& times) {
  std::vector<bool> found;
  for (const AloneTime& time : times) found.push_back(time.contended);
  return found;
}

std::vector<std::int64_t> durations(const std::vector<AloneTime>& times) {
  std::vector<std::int64_t> found;
  for (const AloneTime& time : times) found.push_back(time.duration.count);
  return found;
}

}  // namespace

TEST_CASE("events contend only where more is asked of a resource than it has, and would have been faster alone by what they were slowed") {
  Four e;
  // Both directions at 10 GB/s ask 20 of the 16 that both together have, so each has 0.8 of its speed for the 50 ns in which they
  // overlap. The token load's one core is free beside the copies. The optimizer alone holds both cores, which is no contention.
  const auto apart = e.times({event(e.out, 0, 100), event(e.in, 50, 150), event(e.load, 0, 100), event(e.optimizer, 200, 300)});
  CHECK(contended(apart) == std::vector<bool>{true, true, false, false});
  CHECK(durations(apart) == std::vector<std::int64_t>{90, 90, 100, 100});
  // Overlapping for 4 of 100 ns is not noticed, for 6 it is: 3 cores of 2 are asked for then, and 6 ns count as 4.
  const auto brushing = e.times({event(e.out, 0, 100), event(e.in, 96, 196), event(e.load, 206, 306), event(e.optimizer, 300, 400)});
  CHECK(contended(brushing) == std::vector<bool>{false, false, true, true});
  CHECK(durations(brushing) == std::vector<std::int64_t>{99, 99, 98, 98});
}

TEST_CASE("an event that lasted no time, or went backwards, stays as it is") {
  Four e;
  CHECK(durations(e.times({event(e.out, 50, 50), event(e.in, 60, 40), event(e.load, 0, 100)})) == std::vector<std::int64_t>{0, -20, 100});
}

TEST_CASE("what the simulator slowed is found to be what it took alone") {
  int slowed = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    for (Plan plan : {random_tiny_plan(seed), random_plan({.seed = seed})}) {
      for (Link& link : plan.platform.links) link.latency = Nanoseconds(0);  // during which nothing is held, which a trace does not tell
      const FlatBody body = expand(plan, plan.bodies[0]);
      const Trace trace = simulate(plan, "step", FixedCosts(), {.steps = 4}).value();
      const auto times = alone_times(plan, body, trace);
      REQUIRE(times.size() == trace.events.size());
      for (std::size_t i = 0; i < times.size(); ++i) {
        const Instruction& instruction = body.list.instructions[trace.events[i].instruction];
        if (instruction.kind != InstructionKind::kLaunch || trace.events[i].status == EventStatus::kSkipped) continue;
        const auto alone = static_cast<double>(plan.at(instruction.kernel).shape.rows);
        const auto took = static_cast<double>((trace.events[i].end - trace.events[i].start).count);
        CAPTURE(seed, i, took);
        CHECK(std::abs(static_cast<double>(times[i].duration.count) - alone) <= 0.02 * took + 2);
        slowed += took > 1.05 * alone ? 1 : 0;
      }
    }
  }
  CHECK(slowed > 100);
}
