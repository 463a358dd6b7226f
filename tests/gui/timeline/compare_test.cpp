#include <catch2/catch.hpp>

#include "gui/compare/compared_steps.h"
#include "gui/compare/split_layout.h"
#include "gui/timeline/build_timeline.h"
#include "sim/cost/catalogue_cost_model.h"
#include "sim/des/simulate.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_platform.h"

using namespace plimsoll;
using namespace plimsoll::gui;

namespace {

MatchedOp op(std::uint32_t id, std::int64_t first, std::int64_t second, std::int64_t start) {
  return {.instruction = id, .first_start = start, .first_duration = first, .second_start = start, .second_duration = second};
}

struct Pair {
  std::shared_ptr<const Plan> plan;
  Trace first;
  Trace second;
};

/// A simulated step, and the same with instruction `slowed` of every step `extra` longer and all that starts behind it later.
Pair perturbed(std::uint32_t slowed, std::int64_t extra) {
  const auto plan = lower_to_plan(test::small_model(Family::kGpt2, 2), test::small_recipe(), test::tiny_platform(), {});
  REQUIRE(plan);
  Pair pair{.plan = std::make_shared<const Plan>(*plan)};
  pair.first = *simulate(*pair.plan, "step", CatalogueCostModel(), {.steps = 1});
  pair.first.plan_digest = "one plan";
  pair.second = pair.first;
  pair.second.kind = TraceKind::kMeasured;
  const Nanoseconds from = pair.first.events[slowed].end;
  for (TraceEvent& event : pair.second.events) {
    const bool behind = event.start >= from;
    if (behind) event.start += Nanoseconds(extra);
    if (behind || event.instruction == slowed) event.end += Nanoseconds(extra);
  }
  for (StepSummary& step : pair.second.steps) step.end += Nanoseconds(extra);
  return pair;
}

}  // namespace

TEST_CASE("a slowed instruction is found again, alone and to the nanosecond") {
  const std::uint32_t slowed = 9;
  const std::int64_t extra = 5'000'000;
  const Pair pair = perturbed(slowed, extra);
  const auto steps = compare_steps(build_timeline(pair.plan, pair.first), build_timeline(pair.plan, pair.second));
  REQUIRE(steps->comparison);
  CHECK(steps->matched() == 1.0);
  CHECK(steps->step_time(true) - steps->step_time(false) == extra);
  CHECK(worst_divergence(steps->ops) == slowed);
  CHECK(first_divergence(steps->ops, steps->step_time(false)) == slowed);
  for (const MatchedOp& matched : steps->ops) {
    if (matched.instruction != slowed) CHECK(matched.difference() == 0);
  }
}

TEST_CASE("kinds of work add up to what their operations differ by, the largest difference first") {
  const Pair pair = perturbed(9, 5'000'000);
  const auto steps = compare_steps(build_timeline(pair.plan, pair.first), build_timeline(pair.plan, pair.second));
  std::int64_t by_class = 0;
  std::int64_t by_op = 0;
  for (const MatchedClass& sum : steps->classes) by_class += sum.difference();
  for (const MatchedOp& matched : steps->ops) by_op += matched.difference();
  CHECK(by_class == by_op);
  CHECK(by_op == 5'000'000);
  CHECK(steps->classes.front().difference() == 5'000'000);
}

TEST_CASE("two runs of one plan are compared as two runs, a run beside its prediction by the prediction's rules") {
  Pair pair = perturbed(9, 1000);
  const auto of = [&] { return compare_steps(build_timeline(pair.plan, pair.first), build_timeline(pair.plan, pair.second)); };
  CHECK_FALSE(of()->comparison->of_two_runs);
  pair.first.kind = TraceKind::kMeasured;
  const auto runs = of();
  CHECK(runs->comparison->of_two_runs);
  CHECK(runs->comparison->matched_fraction == 1.0);
  CHECK(runs->matched() == 1.0);
}

TEST_CASE("traces of different plans are split into parts that add up, their operations unmatched") {
  Pair pair = perturbed(9, 1000);
  pair.second.plan_digest = "another plan";
  const auto steps = compare_steps(build_timeline(pair.plan, pair.first), build_timeline(pair.plan, pair.second));
  REQUIRE(steps->comparison);
  Nanoseconds sum;
  for (const ComparedPart& part : steps->comparison->parts) sum += part.measured - part.predicted;
  CHECK(sum == Nanoseconds(1000));
  CHECK(steps->step_time(true) - steps->step_time(false) == 1000);
  CHECK(steps->ops.empty());
}

TEST_CASE("traces of different plans of which one has no whole step stand side by side, and why is said") {
  Pair pair = perturbed(9, 1000);
  pair.second.plan_digest = "another plan";
  pair.second.events.pop_back();
  const auto steps = compare_steps(build_timeline(pair.plan, pair.first), build_timeline(pair.plan, pair.second));
  CHECK_FALSE(steps->comparison);
  CHECK(steps->refused.find("the second trace: no step was traced whole") != std::string::npos);
}

TEST_CASE("the first divergence is the earliest large one, the worst the largest") {
  // Step of 10000 ns: a thousandth is 10. Instruction 1 differs by 8 (too little of the step), 2 by 50 of 1000 (too little
  // of itself), 3 by 30 of 100 at 700, 4 by 400 of 500 at 900.
  const std::vector<MatchedOp> ops{op(1, 10, 18, 100), op(2, 1000, 1050, 200), op(4, 500, 900, 900), op(3, 100, 130, 700)};
  CHECK(first_divergence(ops, 10'000) == 3);
  CHECK(worst_divergence(ops) == 4);
  CHECK_FALSE(first_divergence({op(1, 10, 10, 0)}, 100));
  CHECK_FALSE(worst_divergence({}));
}

TEST_CASE("the split begins at the first step and ends, part by part, at the second") {
  // 100 ns: forward 60, backward 40. Then 115: forward 50, backward 45, idle 20. 100 − 10 + 5 + 20 = 115.
  Comparison comparison;
  comparison.predicted_step = Nanoseconds(100);
  comparison.measured_step = Nanoseconds(115);
  comparison.parts = {{TimePart::kForward, Nanoseconds(60), Nanoseconds(50)},
                      {TimePart::kBackward, Nanoseconds(40), Nanoseconds(45)},
                      {TimePart::kOptimizer, Nanoseconds(0), Nanoseconds(0)},
                      {TimePart::kIdle, Nanoseconds(0), Nanoseconds(20)}};
  const std::vector<SplitBar> bars = split_bars(comparison);
  REQUIRE(bars.size() == 5);  // what is in neither has no bar
  CHECK(bars[1].from == 100);
  CHECK(bars[1].to == 90);
  CHECK(bars[2].to == 95);
  CHECK(bars[3].to == 115);
  CHECK(bars[4].to == 115);
}

TEST_CASE("the split's axis shows its lowest and its highest end") {
  const std::vector<SplitBar> bars{{SplitBar::Kind::kFirst, TimePart::kIdle, 0, 100},
                                   {SplitBar::Kind::kPart, TimePart::kForward, 100, 90}};
  const SplitAxis axis = split_axis(bars);
  CHECK(axis.low < 90);
  CHECK(axis.high > 100);
  CHECK(axis.height_of(0, 200) == 0);
  CHECK(axis.height_of(axis.high, 200) == 200);
}
