// Training whose updates run while the backward pass goes on.
#include <catch2/catch.hpp>

#include <algorithm>

#include "core/plan/expand.h"
#include "executor/checkpoint/training_state.h"
#include "executor/cpu/cpu_executor.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_training.h"

namespace plimsoll {
namespace {

const RepeatedText kText("the quick brown fox jumps. ");
constexpr std::int64_t kSteps = 20;

/// With this bound some of the first steps clip and some do not (a test below holds that).
constexpr double kSometimes = 1.5;

Recipe recipe_of(double clip, std::int64_t accumulate) {
  Recipe recipe = tiny_recipe();
  recipe.clip = clip;
  recipe.accumulate = accumulate;
  return recipe;
}

Plan plan_of(const Strategy& strategy, const Recipe& recipe, Family family = Family::kGpt2) {
  auto plan = lower_to_plan(tiny_spec(family), recipe, tiny_machine(), strategy, {.evaluation = true});
  if (!plan) FAIL(plan.error().text());
  return std::move(*plan);
}

std::unique_ptr<CpuExecutor> executor_of(const Plan& plan, const CpuOptions& options) {
  auto executor = CpuExecutor::create(plan, options);
  if (!executor) FAIL(executor.error().text());
  (*executor)->initialize();
  return std::move(*executor);
}

Trace train(CpuExecutor& executor, std::int64_t first, std::int64_t steps) {
  auto trace = executor.run_steps({.first_step = first, .steps = steps, .first_traced_step = first}, kText);
  if (!trace) FAIL(trace.error().text());
  return std::move(*trace);
}

std::vector<double> losses_of(const Trace& trace) {
  std::vector<double> losses;
  for (const StepSummary& step : trace.steps) losses.push_back(step.loss);
  return losses;
}

std::vector<double> losses_of_resident(const Recipe& recipe, std::int64_t steps = kSteps, Family family = Family::kGpt2) {
  return losses_of(train(*executor_of(plan_of({}, recipe, family), {.threads = 1}), 0, steps));
}

/// The optimizer and the weights in every place, with everything that shifts when its updates can run.
std::vector<Strategy> overlapped_strategies() {
  struct Places {
    Tier parameters, optimizer, gradients;
  };
  constexpr Tier kDevice = Tier::kDevice, kHost = Tier::kHost, kSsd = Tier::kSsd;
  std::vector<Strategy> all;
  for (const auto& [parameters, optimizer, gradients] :
       {Places{kDevice, kDevice, kDevice}, {kDevice, kHost, kDevice}, {kDevice, kHost, kHost}, {kDevice, kSsd, kDevice},
        {kDevice, kSsd, kHost}, {kDevice, kSsd, kSsd}, {kHost, kHost, kHost}, {kSsd, kHost, kHost}, {kSsd, kSsd, kSsd}}) {
    for (const std::int64_t recompute : {0, 1}) {
      all.push_back({.name = "overlapped",
                     .recompute_every = recompute,
                     .parameters = parameters,
                     .optimizer = optimizer,
                     .gradients = gradients,
                     .loop_order = all.size() % 4 < 2 ? LoopOrder::kDepthFirst : LoopOrder::kBreadthFirst,
                     .update_in_backward = true,
                     .staging_slots = 1 + static_cast<std::int64_t>(all.size()) % 3});
    }
  }
  Strategy cautious = all.back();
  cautious.overlap = false;
  all.push_back(cautious);
  return all;
}

std::size_t clipped_steps(const Trace& trace, const Recipe& recipe) {
  return static_cast<std::size_t>(std::count_if(trace.steps.begin(), trace.steps.end(), [&](const StepSummary& step) {
    return step.gradient_norm > recipe.clip;
  }));
}

}  // namespace

TEST_CASE("the bound of these tests clips some steps and not others") {
  for (const std::int64_t accumulate : {1, 3}) {
    const Recipe recipe = recipe_of(kSometimes, accumulate);
    const Trace trace = train(*executor_of(plan_of({}, recipe), {}), 0, kSteps);
    const std::size_t clipped = clipped_steps(trace, recipe);
    CAPTURE(accumulate, clipped);
    CHECK(clipped >= 3);
    CHECK(clipped <= kSteps - 3);
  }
}

TEST_CASE("updates during backward change no bit of any loss, whether steps clip or not, under random delays") {
  const TemporaryFolder folder;
  std::uint64_t jitter = 1;
  for (const double clip : {0.0, kSometimes}) {
    for (const std::int64_t accumulate : {1, 3}) {
      const Recipe recipe = recipe_of(clip, accumulate);
      const std::vector<double> expected = losses_of_resident(recipe);
      for (const Strategy& strategy : overlapped_strategies()) {
        CAPTURE(describe(strategy), clip, accumulate, jitter);
        const CpuOptions options{
            .threads = 1 + static_cast<std::int64_t>(jitter % 2), .jitter_seed = jitter, .drive = {.folder = folder.path()}};
        ++jitter;
        const auto executor = executor_of(plan_of(strategy, recipe), options);
        CHECK(losses_of(train(*executor, 0, kSteps)) == expected);
        CHECK(executor->check_touched());
      }
    }
  }
}

TEST_CASE("updates during backward change no bit of a Llama's losses") {
  const TemporaryFolder folder;
  const Recipe recipe = recipe_of(kSometimes, 2);
  const std::vector<double> expected = losses_of_resident(recipe, 8, Family::kLlama);
  for (const Strategy& strategy : overlapped_strategies()) {
    CAPTURE(describe(strategy));
    const auto executor = executor_of(plan_of(strategy, recipe, Family::kLlama), {.drive = {.folder = folder.path()}});
    CHECK(losses_of(train(*executor, 0, 8)) == expected);
  }
}

TEST_CASE("exactly the steps that clip redo their updates; the others skip what is guarded") {
  const TemporaryFolder folder;
  const Recipe recipe = recipe_of(kSometimes, 1);
  const Plan plan = plan_of({.name = "overlapped", .optimizer = Tier::kSsd, .gradients = Tier::kHost,
                             .update_in_backward = true}, recipe);
  const FlatBody body = expand(plan, *plan.body("step"));
  const Trace trace = train(*executor_of(plan, {.drive = {.folder = folder.path()}}), 0, kSteps);
  for (const TraceEvent& event : trace.events) {
    const bool guarded = body.list.instructions[event.instruction].guard != kNoGuard;
    const bool clips = trace.steps[event.step].gradient_norm > recipe.clip;
    REQUIRE((event.status == EventStatus::kSkipped) == (guarded && !clips));
  }
}

TEST_CASE("evaluations between overlapped steps read the newest weights, and disturb nothing") {
  const TemporaryFolder folder;
  const Recipe recipe = recipe_of(kSometimes, 1);
  const auto resident = executor_of(plan_of({}, recipe), {});
  for (const Strategy& strategy : overlapped_strategies()) {
    CAPTURE(describe(strategy));
    const auto executor = executor_of(plan_of(strategy, recipe), {.drive = {.folder = folder.path()}});
    resident->initialize();
    std::int64_t done = 0;
    for (const std::int64_t steps : {1, 1, 3, 2}) {
      CHECK(executor->evaluate(kText, 3)->loss == resident->evaluate(kText, 3)->loss);
      CHECK(losses_of(train(*executor, done, steps)) == losses_of(train(*resident, done, steps)));
      done += steps;
    }
    CHECK(executor->evaluate(kText, 3)->loss == resident->evaluate(kText, 3)->loss);
  }
}

TEST_CASE("an overlapped run is resumed bit for bit after an odd and an even number of steps, from and to any strategy") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.file("state.safetensors");
  const Recipe recipe = recipe_of(kSometimes, 1);
  const std::vector<double> whole = losses_of_resident(recipe, 9);
  const Strategy on_host{.name = "h", .optimizer = Tier::kHost, .gradients = Tier::kHost, .update_in_backward = true};
  const Strategy on_ssd{.name = "s", .parameters = Tier::kSsd, .optimizer = Tier::kSsd, .gradients = Tier::kHost,
                        .update_in_backward = true};
  const CpuOptions options{.drive = {.folder = folder.path()}};
  for (const std::int64_t steps : {3, 4}) {
    for (const Strategy& before : {on_host, on_ssd, Strategy{}}) {
      const auto first = executor_of(plan_of(before, recipe), options);
      train(*first, 0, steps);
      const ReadState read = [&](TensorKind kind, GroupId group) { return first->state(kind, group); };
      REQUIRE(save_training_state(path, tiny_spec(), recipe, steps, read));
      for (const Strategy& after : {on_host, on_ssd, Strategy{}}) {
        const auto second = executor_of(plan_of(after, recipe), options);
        const WriteState write = [&](TensorKind kind, GroupId group, const FillState& fill) {
          second->set_state(kind, group, fill);
        };
        const auto done = load_training_state(path, tiny_spec(), recipe, write);
        REQUIRE(done);
        CHECK(losses_of(train(*second, *done, 9 - steps)) == std::vector<double>(whole.begin() + steps, whole.end()));
      }
      CHECK(losses_of(train(*first, steps, 9 - steps)) == std::vector<double>(whole.begin() + steps, whole.end()));
    }
  }
}

TEST_CASE("a segment that does not go on where the versions of the states end is refused") {
  const Plan plan = plan_of({.name = "overlapped", .optimizer = Tier::kHost, .gradients = Tier::kHost,
                             .update_in_backward = true}, recipe_of(kSometimes, 1));
  const auto executor = executor_of(plan, {});
  train(*executor, 0, 3);
  const auto again = executor->run_steps({.first_step = 0, .steps = 1}, kText);
  REQUIRE_FALSE(again);
  CHECK_THAT(again.error().text(), Catch::Contains("of 3 steps") && Catch::Contains("step 0 cannot come next"));
  executor->initialize();
  CHECK(executor->run_steps({.first_step = 0, .steps = 1}, kText));
}

}  // namespace plimsoll
