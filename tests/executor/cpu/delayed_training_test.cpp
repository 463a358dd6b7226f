// Updates that take the gradients of the step before (Recipe::delay), against the rule written out.
#include <catch2/catch.hpp>

#include <cstring>
#include <span>
#include <vector>

#include "core/plan/verify_plan.h"
#include "executor/cpu/cpu_executor.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_training.h"

namespace plimsoll {
namespace {

const RepeatedText kText("the quick brown fox jumps. ");
constexpr std::uint32_t kSteps = 4;

Plan plan_of(const Recipe& recipe, const Strategy& strategy) {
  auto lowered = lower_to_plan(tiny_spec(), recipe, tiny_machine(), strategy);
  if (!lowered) FAIL(lowered.error().text());
  const auto verified = verify_plan(*lowered);
  if (!verified) FAIL(verified.error().text());
  return std::move(*lowered);
}

std::vector<double> losses_of(const Plan& plan, const CpuOptions& options) {
  auto executor = CpuExecutor::create(plan, options);
  if (!executor) FAIL(executor.error().text());
  (*executor)->initialize();
  const auto trace = (*executor)->run_steps({.steps = kSteps, .first_traced_step = kSteps}, kText);
  REQUIRE(trace);
  CHECK((*executor)->check_touched());
  std::vector<double> losses;
  for (const StepSummary& step : trace->steps) losses.push_back(step.loss);
  return losses;
}

Recipe delayed(Precision precision, std::int64_t accumulate) {
  Recipe recipe = tiny_recipe();
  recipe.precision = precision;
  recipe.accumulate = accumulate;
  recipe.delay = 1;
  recipe.clip = 0.5;
  return recipe;
}

const std::vector<Strategy> kStrategies{
    {},
    {.recompute_every = 1},
    {.optimizer = Tier::kHost},
    {.optimizer = Tier::kHost, .gradients = Tier::kHost},
    {.optimizer = Tier::kHost, .gradients = Tier::kSsd},
    {.optimizer = Tier::kSsd, .gradients = Tier::kHost, .staging_slots = 3},
    {.optimizer = Tier::kHost, .gradients = Tier::kHost, .loop_order = LoopOrder::kBreadthFirst},
    {.recompute_every = 1, .parameters = Tier::kHost, .optimizer = Tier::kHost, .gradients = Tier::kHost},
};

}  // namespace

TEST_CASE("a delayed update changes no bit of any loss wherever and whenever a plan makes it") {
  const TemporaryFolder folder;
  for (const Precision precision : {Precision::kFp32, Precision::kBf16Mixed, Precision::kFp16Mixed}) {
    for (const std::int64_t accumulate : {1, 3}) {
      const Recipe recipe = delayed(precision, accumulate);
      const std::vector<double> expected = losses_of(plan_of(recipe, {}), {.threads = 1});
      std::uint64_t run = 0;
      for (const Strategy& strategy : kStrategies) {
        CAPTURE(describe(strategy), to_text(precision), accumulate);
        const CpuOptions options{.threads = 1 + static_cast<std::int64_t>(run % 2), .jitter_seed = run + 1,
                                 .drive = {.folder = folder.path(), .way = IoWay::kThreads}};
        CHECK(losses_of(plan_of(recipe, strategy), options) == expected);
        ++run;
      }
    }
  }
}

namespace {

using Weights = std::vector<std::vector<double>>;

/// All groups' weights (fp64).
Weights weights_of(const CpuExecutor& executor, const Plan& plan) {
  Weights weights;
  for (const StateBinding& state : plan.state) {
    if (state.kind != TensorKind::kParameter) continue;
    const auto bytes = executor.state(state.kind, state.group);
    weights.emplace_back(bytes.size() / sizeof(double));
    std::memcpy(weights.back().data(), bytes.data(), bytes.size());
  }
  return weights;
}

void set_weights(CpuExecutor& executor, const Plan& plan, const Weights& weights) {
  std::size_t next = 0;
  for (const StateBinding& state : plan.state) {
    if (state.kind != TensorKind::kParameter) continue;
    const std::vector<double>& group = weights[next++];
    executor.set_state(state.kind, state.group, [&](std::span<std::byte> place) { std::memcpy(place.data(), group.data(), place.size()); });
  }
}

}  // namespace

TEST_CASE("a delayed step applies to the weights the gradient that the step before took at its own") {
  // Gradient descent in fp64: what an undelayed step s takes off weights w is lr · g(s, w). The rule, written out:
  // w(s + 1) = w(s) − lr · g(s − 1, w(s − 1)), and nothing is taken off in step 0.
  Recipe recipe = with_optimizer(tiny_recipe(), OptimizerKind::kSgd);
  recipe.precision = Precision::kFp64;
  recipe.learning_rate = 0.1;
  recipe.weight_decay = recipe.clip = 0;
  Recipe late = recipe;
  late.delay = 1;
  const Plan plan = plan_of(recipe, {}), delayed_plan = plan_of(late, {});
  const auto once = std::move(*CpuExecutor::create(plan, {})), run = std::move(*CpuExecutor::create(delayed_plan, {}));
  run->initialize();
  once->initialize();
  Weights weights = weights_of(*run, delayed_plan), waiting;
  REQUIRE(run->run_steps({.steps = kSteps, .first_traced_step = kSteps}, kText));
  for (std::int64_t step = 0; step < kSteps; ++step) {
    set_weights(*once, plan, weights);
    REQUIRE(once->run_steps({.first_step = step, .steps = 1, .first_traced_step = step + 1}, kText));
    Weights taken = weights_of(*once, plan);
    for (std::size_t g = 0; g < taken.size(); ++g) {
      for (std::size_t i = 0; i < taken[g].size(); ++i) {
        taken[g][i] = weights[g][i] - taken[g][i];
        if (!waiting.empty()) weights[g][i] -= waiting[g][i];
      }
    }
    waiting = std::move(taken);
  }
  const Weights reached = weights_of(*run, delayed_plan);
  REQUIRE(reached.size() == weights.size());
  for (std::size_t g = 0; g < reached.size(); ++g) {
    for (std::size_t i = 0; i < reached[g].size(); ++i) REQUIRE(reached[g][i] == Approx(weights[g][i]).margin(1e-13));
  }
}

TEST_CASE("a delayed update leaves the second step the weights of the first") {
  Recipe recipe = delayed(Precision::kFp32, 1);
  Recipe still = recipe;
  still.delay = 0;
  still.learning_rate = 0;
  still.weight_decay = 0;
  const std::vector<double> moved = losses_of(plan_of(recipe, {}), {});
  const std::vector<double> unmoved = losses_of(plan_of(still, {}), {});
  CHECK(moved[0] == unmoved[0]);
  CHECK(moved[1] == unmoved[1]);  // no gradient had waited for the first step's update
  CHECK(moved[2] != unmoved[2]);
}

TEST_CASE("a delayed update does not go with updates during backward or blocks of the device") {
  for (const Strategy& strategy : {Strategy{.optimizer = Tier::kHost, .gradients = Tier::kHost, .update_in_backward = true},
                                   Strategy{.optimizer = Tier::kHost, .device_state_blocks = 1},
                                   Strategy{.optimizer = Tier::kHost, .device_update_blocks = 1}}) {
    const auto plan = lower_to_plan(tiny_spec(), delayed(Precision::kFp32, 1), tiny_machine(), strategy);
    REQUIRE_FALSE(plan);
    CHECK_THAT(plan.error().text(), Catch::Contains("delays updates"));
  }
}

}  // namespace plimsoll
