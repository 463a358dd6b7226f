#include "sim/des/simulate.h"

#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "tests/core/trace/tiny_plan.h"
#include "tests/sim/des/fixed_costs.h"

using namespace plimsoll;

namespace {

using Span = std::pair<std::int64_t, std::int64_t>;

/// Start and end of each event, by step and id.
std::vector<Span> spans(const Plan& plan, const SimulateOptions& options = {.steps = 1},
                        const CostModel& costs = FixedCosts()) {
  const Result<Trace> trace = simulate(plan, "step", costs, options);
  REQUIRE(trace);
  std::vector<Span> spans;
  for (const TraceEvent& event : trace->events) spans.emplace_back(event.start.count, event.end.count);
  return spans;
}

/// A launch that runs when `flag` is set.
void add_guarded(TinyPlan& tiny, QueueId queue, BufferId flag) {
  tiny.add({.kind = InstructionKind::kLaunch, .queue = queue, .kernel = KernelId(0), .guard = 0}, {},
           {tiny.whole(flag, Access::kRead)});
}

std::size_t count_skipped(const Trace& trace) {
  std::size_t count = 0;
  for (const TraceEvent& event : trace.events) count += event.status == EventStatus::kSkipped ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("a queue of width 1 runs its instructions one after another") {
  TinyPlan tiny;
  const QueueId queue = tiny.queue(QueueKind::kCompute);
  tiny.launch(queue, 10);
  tiny.launch(queue, 5);
  CHECK(spans(tiny.build()) == std::vector<Span>{{0, 10}, {10, 15}});
}

TEST_CASE("an instruction waits for its dependencies and for nothing else") {
  TinyPlan tiny;
  const QueueId a = tiny.queue(QueueKind::kCompute);
  const QueueId b = tiny.queue(QueueKind::kCopy);
  const auto first = tiny.launch(a, 10);
  tiny.launch(b, 3);
  tiny.launch(b, 4, {after(first)});  // free at 3, dependency ends at 10
  tiny.launch(a, 2);                  // follows `first` only
  CHECK(spans(tiny.build()) == std::vector<Span>{{0, 10}, {0, 3}, {10, 14}, {10, 12}});
}

TEST_CASE("a wide queue starts instructions in order, as many at once as it is wide") {
  TinyPlan tiny;
  const QueueId wide = tiny.queue(QueueKind::kStorage, 2);
  const QueueId other = tiny.queue(QueueKind::kCompute);
  const auto slow = tiny.launch(other, 20);
  tiny.launch(wide, 10);
  tiny.launch(wide, 30);
  tiny.launch(wide, 5, {after(slow)});  // a place is free at 10, the dependency ends at 20
  tiny.launch(wide, 1);                 // could start at 10, but not before the one in front of it; the next place: 25
  CHECK(spans(tiny.build()) == std::vector<Span>{{0, 20}, {0, 10}, {0, 30}, {20, 25}, {25, 26}});
}

TEST_CASE("steps follow each other without a barrier and wait only for dependencies on earlier steps") {
  TinyPlan tiny;
  const QueueId a = tiny.queue(QueueKind::kCompute);
  const QueueId b = tiny.queue(QueueKind::kHostCompute);
  const auto compute = tiny.launch(a, 10);
  const auto update = tiny.launch(b, 25, {after(compute)});
  CHECK(update == 1);
  // Free-running: a 0-10, 10-20, 20-30; b 10-35, 35-60, 60-85.
  CHECK(spans(tiny.build(), {.steps = 3}) ==
        std::vector<Span>{{0, 10}, {10, 35}, {10, 20}, {35, 60}, {20, 30}, {60, 85}});

  TinyPlan late;
  const QueueId c = late.queue(QueueKind::kCompute);
  const QueueId d = late.queue(QueueKind::kHostCompute);
  late.launch(c, 10, {after(1, 2)});  // the update of two steps before
  late.launch(d, 25, {after(0)});
  // Step 2's compute waits for step 0's update, which ends at 35.
  CHECK(spans(late.build(), {.steps = 3}) ==
        std::vector<Span>{{0, 10}, {10, 35}, {10, 20}, {35, 60}, {35, 45}, {60, 85}});
}

TEST_CASE("a step is counted from the end of the step before") {
  TinyPlan tiny;
  const QueueId a = tiny.queue(QueueKind::kCompute);
  const QueueId b = tiny.queue(QueueKind::kHostCompute);
  tiny.launch(a, 10);
  tiny.launch(b, 25, {after(0)});
  const Trace trace = simulate(tiny.build(), "step", FixedCosts()).value();
  REQUIRE(trace.steps.size() == 3);
  // Ends 35, 60, 85 (see above): 35, then 25 each in the steady state.
  CHECK(trace.steps[0].duration() == Nanoseconds(35));
  CHECK(trace.steps[1].start == Nanoseconds(35));
  CHECK(trace.steps[2].duration() == Nanoseconds(25));
}

TEST_CASE("two copies that share an uplink take turns by bytes") {
  // 1 byte/ns alone; the uplink carries 1 byte/ns. A: 100 bytes, B: 50. Both at 1/2 until B's 50 are done: at 100 A has
  // 50 left and goes on alone: 150.
  TinyPlan tiny;
  const ResourceId uplink = tiny.resource("uplink", 1e9);
  tiny.link(TinyPlan::kHost, TinyPlan::kDevice, Nanoseconds(0), {{uplink, 1.0}});
  const QueueId one = tiny.queue(QueueKind::kCopy);
  const QueueId two = tiny.queue(QueueKind::kCopy);
  tiny.copy(one, tiny.buffer(TinyPlan::kHost, 100), tiny.buffer(TinyPlan::kDevice, 100));
  tiny.copy(two, tiny.buffer(TinyPlan::kHost, 50), tiny.buffer(TinyPlan::kDevice, 50));
  CHECK(spans(tiny.build()) == std::vector<Span>{{0, 150}, {0, 100}});
}

TEST_CASE("copies over links of unlike rates get equal bytes of a shared uplink") {
  // Alone 1 and 0.8 bytes/ns, the uplink carries 1: 0.5 each. B's 80 bytes are done at 160, when A has moved 80 of its
  // 100; A's last 20 go alone: 180.
  TinyPlan tiny;
  const ResourceId uplink = tiny.resource("uplink", 1e9);
  tiny.link(TinyPlan::kHost, TinyPlan::kDevice, Nanoseconds(0), {{uplink, 1.0}});
  tiny.link(TinyPlan::kDevice, TinyPlan::kHost, Nanoseconds(0), {{uplink, 1.0}});
  tiny.copy(tiny.queue(QueueKind::kCopy), tiny.buffer(TinyPlan::kHost, 100), tiny.buffer(TinyPlan::kDevice, 100));
  tiny.copy(tiny.queue(QueueKind::kCopy), tiny.buffer(TinyPlan::kDevice, 80), tiny.buffer(TinyPlan::kHost, 80));
  Plan plan = tiny.build();
  plan.platform.links[1].bytes_per_second = 0.8e9;
  CHECK(spans(plan) == std::vector<Span>{{0, 180}, {0, 160}});
}

TEST_CASE("thirds of a nanosecond do not add up") {
  // Three flows of 100 bytes at 1/3 byte/ns end at 300 together, a thousand times in a row.
  TinyPlan tiny;
  const ResourceId uplink = tiny.resource("uplink", 1e9);
  tiny.link(TinyPlan::kHost, TinyPlan::kDevice, Nanoseconds(0), {{uplink, 1.0}});
  const BufferId from = tiny.buffer(TinyPlan::kHost, 100);
  const BufferId to = tiny.buffer(TinyPlan::kDevice, 100);
  for (int i = 0; i < 3; ++i) tiny.copy(tiny.queue(QueueKind::kCopy), from, to);
  const Trace trace = simulate(tiny.build(), "step", FixedCosts(), {.steps = 1000}).value();
  for (const StepSummary& step : trace.steps) CHECK(step.duration() == Nanoseconds(300));
}

TEST_CASE("a link's latency passes before its bytes take a share") {
  // As above with 20 ns latency, and B behind a kernel of 30: A moves from 20. B's bytes from 30 + 20 = 50, when A has
  // 70 of 100 left. Both at 1/2 until B's 50 are done at 150; A then has 20 left: 170.
  TinyPlan tiny;
  const ResourceId uplink = tiny.resource("uplink", 1e9);
  tiny.link(TinyPlan::kHost, TinyPlan::kDevice, Nanoseconds(20), {{uplink, 1.0}});
  const QueueId one = tiny.queue(QueueKind::kCopy);
  const QueueId two = tiny.queue(QueueKind::kCopy);
  tiny.copy(one, tiny.buffer(TinyPlan::kHost, 100), tiny.buffer(TinyPlan::kDevice, 100));
  tiny.launch(two, 30);
  tiny.copy(two, tiny.buffer(TinyPlan::kHost, 50), tiny.buffer(TinyPlan::kDevice, 50));
  CHECK(spans(tiny.build()) == std::vector<Span>{{0, 170}, {0, 30}, {30, 150}});
}

TEST_CASE("kernels that hold the same cores are slowed alike") {
  // 2 cores, wanted 2 and 1: both at 2/3. The one of 20 ends at 30; the other then has 40 - 30 · 2/3 = 20 left: 50.
  TinyPlan tiny;
  const ResourceId cores = tiny.resource("cores", 2);
  tiny.launch(tiny.queue(QueueKind::kHostCompute, 1, {{cores, 2.0}}, TinyPlan::kCpu), 40);
  tiny.launch(tiny.queue(QueueKind::kHostWork, 1, {{cores, 1.0}}, TinyPlan::kCpu), 20);
  CHECK(spans(tiny.build()) == std::vector<Span>{{0, 50}, {0, 30}});
}

TEST_CASE("a queue's weight says how its work shares what is short") {
  // 2 cores, wanted 2 and 1, the second at half the speed of the first: 2 λ + λ/2 = 2 => λ = 4/5. The first takes
  // 40/(4/5) = 50, the second 20/(2/5) = 50.
  TinyPlan tiny;
  const ResourceId cores = tiny.resource("cores", 2);
  tiny.launch(tiny.queue(QueueKind::kHostCompute, 1, {{cores, 2.0}}, TinyPlan::kCpu), 40);
  tiny.launch(tiny.queue(QueueKind::kHostWork, 1, {{cores, 1.0}}, TinyPlan::kCpu), 20);
  Plan plan = tiny.build();
  plan.platform.queues[1].weight = 0.5;
  CHECK(spans(plan) == std::vector<Span>{{0, 50}, {0, 50}});
}

TEST_CASE("issuing an instruction keeps its queue busy before it starts") {
  TinyPlan tiny;
  const QueueId queue = tiny.queue(QueueKind::kCompute);
  tiny.launch(queue, 10);
  tiny.launch(queue, 10);
  CHECK(spans(tiny.build(), {.steps = 1}, FixedCosts(1, Nanoseconds(3))) == std::vector<Span>{{3, 13}, {16, 26}});
}

TEST_CASE("markers take no time and order what depends on them") {
  TinyPlan tiny;
  const QueueId a = tiny.queue(QueueKind::kCompute);
  const QueueId b = tiny.queue(QueueKind::kCopy);
  tiny.launch(a, 10);
  const auto marker = tiny.marker(a);
  tiny.launch(b, 1, {after(marker)});
  CHECK(spans(tiny.build()) == std::vector<Span>{{0, 10}, {10, 10}, {10, 11}});
}

TEST_CASE("a flag is set with the given probability, decided by step and flag") {
  TinyPlan tiny;
  const QueueId queue = tiny.queue(QueueKind::kCompute);
  tiny.launch(queue, 10);
  for (int i = 0; i < 400; ++i) add_guarded(tiny, queue, tiny.buffer(TinyPlan::kDevice, 8));
  const Plan plan = tiny.build();
  const auto skipped = [&plan](double probability) {
    const Trace trace = simulate(plan, "step", FixedCosts(), {.steps = 5, .guard_probability = probability}).value();
    for (const TraceEvent& event : trace.events) {
      if (event.status == EventStatus::kSkipped) CHECK(event.start == event.end);
    }
    return static_cast<int>(count_skipped(trace));
  };
  CHECK(skipped(1.0) == 0);
  CHECK(skipped(0.0) == 2000);
  // Binomial(2000, 0.75): mean 1500, four standard deviations are 4 √(2000 · 0.75 · 0.25) = 77.
  CHECK(std::abs(skipped(0.25) - 1500) < 78);
  CHECK(skipped(0.25) == skipped(0.25));
}

TEST_CASE("what one flag guards in a step runs together or not at all") {
  TinyPlan tiny;
  const QueueId queue = tiny.queue(QueueKind::kCompute);
  tiny.launch(queue, 10);
  const BufferId flag = tiny.buffer(TinyPlan::kDevice, 8);
  for (int i = 0; i < 7; ++i) add_guarded(tiny, queue, flag);
  const Trace trace = simulate(tiny.build(), "step", FixedCosts(), {.steps = 100, .guard_probability = 0.5}).value();
  std::size_t steps_that_skip = 0;
  for (std::uint32_t step = 0; step < 100; ++step) {
    Trace one;
    std::copy_if(trace.events.begin(), trace.events.end(), std::back_inserter(one.events),
                 [step](const TraceEvent& event) { return event.step == step; });
    const std::size_t skipped = count_skipped(one);
    REQUIRE((skipped == 0 || skipped == 7));
    steps_that_skip += skipped == 7 ? 1 : 0;
  }
  CHECK(steps_that_skip > 30);  // four standard deviations of binomial(100, 0.5) are 20
  CHECK(steps_that_skip < 70);
}

TEST_CASE("the cost model is asked once for each distinct work") {
  TinyPlan tiny;
  const QueueId queue = tiny.queue(QueueKind::kCompute);
  const ResourceId bus = tiny.resource("bus", 1e9);
  tiny.link(TinyPlan::kHost, TinyPlan::kDevice, Nanoseconds(0), {{bus, 1.0}});
  const BufferId from = tiny.buffer(TinyPlan::kHost, 10);
  const BufferId to = tiny.buffer(TinyPlan::kDevice, 10);
  for (int i = 0; i < 50; ++i) {
    tiny.launch(queue, i % 2);
    tiny.copy(queue, from, to);
  }
  const FixedCosts costs;
  REQUIRE(simulate(tiny.build(), "step", costs));
  CHECK(costs.lookups == 3);  // two kernels, one transfer
}

TEST_CASE("the simulator refuses what it cannot time, by name") {
  SECTION("a collective") {
    TinyPlan tiny;
    tiny.add({.kind = InstructionKind::kCollective, .queue = tiny.queue(QueueKind::kCommunication)}, {}, {});
    const auto error = simulate(tiny.build(), "step", FixedCosts()).error();
    CHECK(error.kind == ErrorKind::kUncalibrated);
    CHECK(error.text().find("instruction 0 (collective)") != std::string::npos);
  }
  SECTION("a copy without a link") {
    TinyPlan tiny;
    tiny.copy(tiny.queue(QueueKind::kCopy), tiny.buffer(TinyPlan::kHost, 1), tiny.buffer(TinyPlan::kDevice, 1));
    const auto error = simulate(tiny.build(), "step", FixedCosts()).error();
    CHECK(error.kind == ErrorKind::kDefect);
    CHECK(error.what == "no link leads from host to gpu0");
  }
  SECTION("a copy without operands") {
    TinyPlan tiny;
    tiny.add({.kind = InstructionKind::kCopy, .queue = tiny.queue(QueueKind::kCopy)}, {}, {});
    CHECK(simulate(tiny.build(), "step", FixedCosts()).error().kind == ErrorKind::kDefect);
  }
  SECTION("instructions that wait for each other") {
    TinyPlan tiny;
    const QueueId queue = tiny.queue(QueueKind::kCompute);
    tiny.launch(queue, 1, {after(1)});
    tiny.launch(queue, 1);
    CHECK(simulate(tiny.build(), "step", FixedCosts()).error().kind == ErrorKind::kDefect);
  }
  SECTION("a body that is not there") {
    CHECK(simulate(TinyPlan().build(), "evaluation", FixedCosts()).error().kind == ErrorKind::kUnknownName);
  }
}

TEST_CASE("a predicted trace says what it is made of") {
  TinyPlan tiny;
  const BufferId buffer = tiny.buffer(TinyPlan::kDevice, 100);
  tiny.launch(tiny.queue(QueueKind::kCompute), 10, {}, {tiny.whole(buffer, Access::kWrite)});
  const Trace trace = simulate(tiny.build(), "step", FixedCosts(), {.steps = 2}).value();
  CHECK(trace.kind == TraceKind::kPredicted);
  CHECK(trace.source == "fixed");
  CHECK(trace.calibrated_from == std::vector<std::string>{"warm-up"});
  REQUIRE(trace.events.size() == 2);
  CHECK(trace.events[1].step == 1);
  CHECK(trace.events[1].status == EventStatus::kPredicted);
  REQUIRE(trace.peaks.size() == 2);
  CHECK(trace.peaks[0].bytes == Bytes(4096));
  CHECK(trace.peaks[0].by_category == std::vector<std::pair<TensorKind, Bytes>>{{TensorKind::kActivation, Bytes(100)}});
}

TEST_CASE("a trace without events has the same steps") {
  TinyPlan tiny;
  const QueueId queue = tiny.queue(QueueKind::kCompute);
  tiny.launch(queue, 10);
  tiny.launch(queue, 7, {after(0, 1)});
  const Trace whole = simulate(tiny.build(), "step", FixedCosts()).value();
  const Trace brief = simulate(tiny.build(), "step", FixedCosts(), {.keep_events = false}).value();
  CHECK(brief.events.empty());
  REQUIRE(brief.steps.size() == whole.steps.size());
  for (std::size_t i = 0; i < whole.steps.size(); ++i) CHECK(brief.steps[i].end == whole.steps[i].end);
}
