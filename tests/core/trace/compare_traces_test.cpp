#include "core/trace/compare_traces.h"

#include <catch2/catch.hpp>

#include "tests/core/trace/random_tiny_plan.h"
#include "tests/core/trace/random_trace.h"

using namespace plimsoll;

namespace {

Trace traced(const Plan& plan, std::uint32_t seed, std::uint32_t steps = 3) {
  return random_trace(expand(plan, plan.bodies[0]), steps, seed);
}

}  // namespace

TEST_CASE("the differences of the parts add up to the difference of the steps exactly") {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    const Plan plan = random_tiny_plan(seed);
    const Comparison comparison = compare_traces(plan, traced(plan, seed), traced(plan, seed + 1000)).value();
    Nanoseconds sum;
    for (const ComparedPart& part : comparison.parts) sum += part.measured - part.predicted;
    CHECK(sum == comparison.measured_step - comparison.predicted_step);
  }
}

TEST_CASE("the last predicted step that another one follows is compared with the median measured step") {
  TinyPlan tiny;
  tiny.launch(tiny.queue(QueueKind::kCompute), 1);
  const Plan plan = tiny.build();
  const auto trace_of = [](const std::vector<std::int64_t>& durations) {
    Trace trace;
    trace.plan_digest = "plan";
    Nanoseconds reached;
    for (std::uint32_t step = 0; step < durations.size(); ++step) {
      const Nanoseconds end = reached + Nanoseconds(durations[step]);
      trace.events.push_back({.step = step, .start = reached, .end = end});
      trace.steps.push_back({.step = step, .start = reached, .end = end});
      reached = end;
    }
    return trace;
  };
  const Comparison comparison = compare_traces(plan, trace_of({50, 45, 40, 35}), trace_of({90, 48, 52, 47, 50})).value();
  CHECK(comparison.predicted_step_index == 2);
  CHECK(comparison.measured_step_index == 4);  // of 47, 48, 50, 52, 90
  CHECK(comparison.predicted_step == Nanoseconds(40));
  CHECK(comparison.measured_step == Nanoseconds(50));
  CHECK(comparison.error() == Approx(0.2));
  CHECK(comparison.matched_fraction == 1.0);
}

TEST_CASE("an instruction that one world skipped and the other ran does not match") {
  const Plan plan = random_tiny_plan(1, {.instructions = 10});
  const Trace predicted = traced(plan, 1, 1);
  Trace measured = traced(plan, 2, 1);
  measured.events[3].status = EventStatus::kSkipped;
  CHECK(compare_traces(plan, predicted, measured)->matched_fraction == Approx(0.9));
}

TEST_CASE("a prediction of steps that skip is compared with the measured steps that skip, as far as there are any") {
  TinyPlan tiny;
  tiny.launch(tiny.queue(QueueKind::kCompute), 1);
  const Plan plan = tiny.build();
  const auto trace_of = [](const std::vector<std::pair<std::int64_t, bool>>& steps) {  // durations, and whether they skip
    Trace trace;
    trace.plan_digest = "plan";
    Nanoseconds reached;
    for (const auto& [duration, skips] : steps) {
      const auto step = static_cast<std::uint32_t>(trace.steps.size());
      const Nanoseconds end = reached + Nanoseconds(duration);
      const EventStatus status = skips ? EventStatus::kSkipped : EventStatus::kMeasured;
      trace.events.push_back({.step = step, .start = reached, .end = end, .status = status});
      trace.steps.push_back({.step = step, .start = reached, .end = end});
      reached = end;
    }
    return trace;
  };
  const Trace measured = trace_of({{90, false}, {31, true}, {95, false}, {35, true}, {92, false}, {33, true}, {99, false}});
  const auto against = [&](bool skips) { return compare_traces(plan, trace_of({{30, skips}}), measured).value(); };
  CHECK(against(true).measured_step == Nanoseconds(33));   // of 31, 33, 35
  CHECK(against(false).measured_step == Nanoseconds(92));  // of 90, 92, 95, 99
  CHECK(against(true).alike_steps == 3);
  CHECK(against(true).traced_steps == 7);
  const Trace all_run = trace_of({{50, false}, {60, false}, {70, false}});
  const Comparison unlike = compare_traces(plan, trace_of({{30, true}}), all_run).value();
  CHECK(unlike.measured_step == Nanoseconds(60));
  CHECK(unlike.alike_steps == 3);
  CHECK(unlike.matched_fraction == 0.0);
}

TEST_CASE("steps without events are told too: on a device events make a step longer, and a long run may change after those that keep them") {
  TinyPlan tiny;
  tiny.launch(tiny.queue(QueueKind::kCompute), 1);
  const Plan plan = tiny.build();
  Trace predicted{.kind = TraceKind::kPredicted, .plan_digest = "plan"}, measured{.plan_digest = "plan", .source = "cuda; a driver"};
  predicted.events.push_back({.step = 0, .end = Nanoseconds(100)});
  predicted.steps.push_back({.step = 0, .end = Nanoseconds(100)});
  Nanoseconds reached;
  for (const std::int64_t duration : {130, 131, 129, 150, 99, 104, 101}) {  // three are traced, and the fourth waits for them
    const auto step = static_cast<std::uint32_t>(measured.steps.size());
    const Nanoseconds end = reached + Nanoseconds(duration);
    if (step < 3) measured.events.push_back({.step = step, .start = reached, .end = end});
    measured.steps.push_back({.step = step, .start = reached, .end = end});
    reached = end;
  }
  const Comparison told = compare_traces(plan, predicted, measured).value();
  CHECK(told.measured_step == Nanoseconds(130));
  CHECK(told.untraced_steps == 3);
  CHECK(told.untraced_step == Nanoseconds(101));
  CHECK(told.untraced_error().value() == Approx(1.0 / 101));
  measured.source = "cpu";
  CHECK(compare_traces(plan, predicted, measured)->untraced_error() == told.untraced_error());
}

TEST_CASE("memory is compared by space and category, with zero where one side has none") {
  const Plan plan = random_tiny_plan(1);
  Trace predicted = traced(plan, 1);
  Trace measured = traced(plan, 2);
  predicted.peaks = {
      {SpaceId(0), Bytes(100), {{TensorKind::kGradient, Bytes(30)}, {TensorKind::kParameter, Bytes(60)}}}};
  measured.peaks = {{SpaceId(1), Bytes(7), {}}, {SpaceId(0), Bytes(90), {{TensorKind::kParameter, Bytes(61)}}}};
  const auto memory = compare_traces(plan, predicted, measured)->memory;
  REQUIRE(memory.size() == 2);
  CHECK(memory[0].space == plan.platform.at(SpaceId(0)).name);
  CHECK(memory[0].predicted == Bytes(100));
  CHECK(memory[0].measured == Bytes(90));
  REQUIRE(memory[0].by_category.size() == 2);
  CHECK(memory[0].by_category[0].kind == TensorKind::kParameter);
  CHECK(memory[0].by_category[0].predicted == Bytes(60));
  CHECK(memory[0].by_category[0].measured == Bytes(61));
  CHECK(memory[0].by_category[1].measured == Bytes(0));
  CHECK(memory[1].measured == Bytes(7));
}

TEST_CASE("what proves nothing is refused") {
  const Plan plan = random_tiny_plan(1);
  Trace predicted = traced(plan, 1);
  Trace measured = traced(plan, 2);
  REQUIRE(compare_traces(plan, predicted, measured));
  SECTION("traces of different plans") {
    measured.plan_digest = "another";
    CHECK(compare_traces(plan, predicted, measured).error().kind == ErrorKind::kInput);
  }
  SECTION("a trace that does not name its plan") {
    predicted.plan_digest = measured.plan_digest = "";
    CHECK_FALSE(compare_traces(plan, predicted, measured));
  }
  SECTION("a prediction that the measured plan's own samples fed") {
    predicted.calibrated_from = {"warm-up", "plan"};
    const auto refused = compare_traces(plan, predicted, measured);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().what.find("own samples fed the model") != std::string::npos);
  }
  SECTION("a run without a whole traced step") {
    measured = traced(plan, 2, 1);
    measured.events.pop_back();
    const auto refused = compare_traces(plan, predicted, measured);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().what == "the measured trace has no whole traced step");
  }
}
