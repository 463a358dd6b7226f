#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <vector>

#include "core/plan/expand.h"
#include "core/trace/critical_path.h"
#include "sim/des/simulate.h"
#include "tests/core/trace/random_tiny_plan.h"
#include "tests/sim/des/fixed_costs.h"
#include "tests/support/random_plan.h"

using namespace plimsoll;

namespace {

constexpr std::uint32_t kSeeds = 60;
constexpr std::uint32_t kSteps = 4;

Trace run(const Plan& plan, const CostModel& costs = FixedCosts()) {
  return simulate(plan, "step", costs, {.steps = kSteps}).value();
}

/// A plan that contends for resources and one that obeys the whole law of plans, with guards and SSD traffic.
std::vector<Plan> plans_of(std::uint32_t seed) { return {random_tiny_plan(seed), test::random_plan({.seed = seed})}; }

FlatBody flat(const Plan& plan) { return expand(plan, plan.bodies[0]); }

/// What an instruction takes alone under FixedCosts.
Nanoseconds alone(const Plan& plan, const FlatBody& body, const Instruction& instruction) {
  if (instruction.kind == InstructionKind::kLaunch) return Nanoseconds(plan.at(instruction.kernel).shape.rows);
  const auto uses = body.uses(instruction);
  const auto link = plan.platform.link(plan.buffers[uses[0].target].space, plan.buffers[uses[1].target].space);
  return plan.platform.at(link.value()).latency + Nanoseconds(uses[0].bytes.count);
}

/// Longest chain over dependencies and queues of width 1 by the durations alone, of all steps.
Nanoseconds longest_chain(const Plan& plan, const FlatBody& body) {
  std::vector<Nanoseconds> ends(body.size() * kSteps);
  std::vector<Nanoseconds> queue_end(plan.platform.queues.size());
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::size_t step = i / body.size();
    const Instruction& instruction = body.list.instructions[i % body.size()];
    Nanoseconds ready;
    for (const Dependency& dependency : body.dependencies(instruction)) {
      if (dependency.distance > step) continue;
      ready = std::max(ready, ends[(step - dependency.distance) * body.size() + dependency.target]);
    }
    const bool narrow = plan.platform.at(instruction.queue).width == 1;
    Nanoseconds& queue = queue_end[instruction.queue.index];
    if (narrow) ready = std::max(ready, queue);
    ends[i] = ready + alone(plan, body, instruction);
    if (narrow) queue = ends[i];
  }
  return *std::max_element(ends.begin(), ends.end());
}

std::vector<std::int64_t> times(const Trace& trace) {
  std::vector<std::int64_t> times;
  for (const TraceEvent& event : trace.events) {
    times.push_back(event.start.count);
    times.push_back(event.end.count);
  }
  return times;
}

}  // namespace

TEST_CASE("a simulated trace respects every dependency") {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    for (const Plan& plan : plans_of(seed)) {
      const FlatBody body = flat(plan);
      const Trace trace = run(plan);
      REQUIRE(trace.events.size() == body.size() * kSteps);
      for (const TraceEvent& event : trace.events) {
        for (const Dependency& dependency : body.dependencies(body.list.instructions[event.instruction])) {
          if (dependency.distance > event.step) continue;
          const auto at = (event.step - dependency.distance) * body.size() + dependency.target;
          REQUIRE(trace.events[at].end <= event.start);
        }
      }
    }
  }
}

TEST_CASE("a simulated trace starts each queue's instructions in order and never more than its width") {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    for (const Plan& plan : plans_of(seed)) {
      const FlatBody body = flat(plan);
      std::map<QueueId, std::vector<TraceEvent>> by_queue;
      for (const TraceEvent& event : run(plan).events) {
        by_queue[body.list.instructions[event.instruction].queue].push_back(event);
      }
      for (const auto& [queue, events] : by_queue) {
        const auto width = static_cast<std::size_t>(plan.platform.at(queue).width);
        for (std::size_t i = 1; i < events.size(); ++i) {
          REQUIRE(events[i - 1].start <= events[i].start);
          // Of those before it, all but width - 1 have ended.
          const auto running = std::count_if(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(i),
                                             [&](const TraceEvent& e) { return e.end > events[i].start; });
          REQUIRE(static_cast<std::size_t>(running) < width);
        }
      }
    }
  }
}

TEST_CASE("an instruction never ends sooner than alone, and exactly then when nothing is shared") {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    for (const bool shared : {true, false}) {
      const Plan plan = random_tiny_plan(seed, {.shared = shared});
      const FlatBody body = flat(plan);
      for (const TraceEvent& event : run(plan).events) {
        const Nanoseconds least = alone(plan, body, body.list.instructions[event.instruction]);
        REQUIRE(event.end - event.start >= least);
        if (!shared) REQUIRE(event.end - event.start == least);
      }
    }
  }
}

TEST_CASE("the makespan is at least the longest chain, and equal to it on narrow queues with nothing shared") {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    const Plan wide = random_tiny_plan(seed);
    CHECK(run(wide).steps.back().end >= longest_chain(wide, flat(wide)));
    const Plan narrow = random_tiny_plan(seed, {.shared = false, .width = 1});
    CHECK(run(narrow).steps.back().end == longest_chain(narrow, flat(narrow)));
  }
}

TEST_CASE("simulating twice gives the same trace to the nanosecond") {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    for (const Plan& plan : plans_of(seed)) {
      CHECK(times(run(plan)) == times(run(plan)));
    }
  }
}

TEST_CASE("doubling all costs doubles every time when links have no latency and nothing is shared") {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    Plan plan = random_tiny_plan(seed, {.shared = false});
    for (Link& link : plan.platform.links) link.latency = Nanoseconds(0);
    std::vector<std::int64_t> doubled = times(run(plan));
    for (std::int64_t& time : doubled) time *= 2;
    CHECK(times(run(plan, FixedCosts(2))) == doubled);
  }
}

TEST_CASE("a serial plan takes the sum of its instructions alone, whatever they demand") {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    Plan plan = random_tiny_plan(seed);
    InstructionList& list = plan.blocks[0].list;
    const auto count = static_cast<std::uint32_t>(list.instructions.size());
    list.dependencies.clear();
    for (std::uint32_t id = 0; id < count; ++id) {
      list.instructions[id].first_dependency = id;
      list.instructions[id].dependency_count = 1;
      list.dependencies.push_back(id > 0 ? Dependency{id - 1, 0} : Dependency{count - 1, 1});
    }
    const FlatBody body = flat(plan);
    Nanoseconds sum;
    for (const Instruction& instruction : body.list.instructions) sum += alone(plan, body, instruction);
    CHECK(run(plan).steps.back().end == sum * kSteps);
  }
}

TEST_CASE("steps follow each other and cover the run") {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    for (const Plan& plan : plans_of(seed)) {
      const Trace trace = run(plan);
      Nanoseconds reached;
      Nanoseconds sum;
      for (const StepSummary& step : trace.steps) {
        CHECK(step.start == reached);
        CHECK(step.end >= step.start);
        reached = step.end;
        sum += step.duration();
      }
      const auto last = std::max_element(trace.events.begin(), trace.events.end(),
                                         [](const TraceEvent& a, const TraceEvent& b) { return a.end < b.end; });
      CHECK(sum == last->end);
    }
  }
}

TEST_CASE("the critical path of a simulated first step reaches back to time 0 without a gap") {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    const Plan plan = random_tiny_plan(seed);
    const FlatBody body = flat(plan);
    const Trace trace = run(plan);
    const auto path = critical_path(plan, body, trace, 0);
    REQUIRE_FALSE(path.empty());
    CHECK(path.front().start == Nanoseconds(0));
    for (const CriticalEvent& event : path) CHECK(event.waited == Nanoseconds(0));
    CHECK(path.back().end == trace.steps[0].end);
  }
}
