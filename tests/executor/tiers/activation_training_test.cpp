#include <catch2/catch.hpp>

#include <functional>

#include "executor/cpu/cpu_executor.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_training.h"

namespace plimsoll {
namespace {

const RepeatedText kText("the quick brown fox jumps. ");

ModelSpec spec_of(Family family) {
  ModelSpec spec = tiny_spec(family);
  spec.layers = 4;
  return spec;
}

Recipe recipe_of(std::int64_t accumulate) {
  Recipe recipe = tiny_recipe();
  recipe.accumulate = accumulate;
  return recipe;
}

/// The losses of three steps.
std::vector<double> losses_of(Family family, const Recipe& recipe, const Strategy& strategy, const CpuOptions& options) {
  const auto plan = lower_to_plan(spec_of(family), recipe, tiny_machine(), strategy, {.evaluation = true});
  REQUIRE(plan);
  auto executor = CpuExecutor::create(*plan, options);
  if (!executor) FAIL(executor.error().text());
  (*executor)->initialize();
  const auto trace = (*executor)->run_steps({.first_step = 0, .steps = 3, .first_traced_step = 0}, kText);
  REQUIRE(trace);
  CHECK((*executor)->check_touched());
  std::vector<double> losses;
  for (const StepSummary& step : trace->steps) losses.push_back(step.loss);
  return losses;
}

/// Activations in both tiers, of one block, half of them and all, with every way to recompute.
std::vector<Strategy> strategies() {
  std::vector<Strategy> all;
  for (const Tier tier : {Tier::kHost, Tier::kSsd}) {
    for (const std::int64_t blocks : {1, 2, 4}) {
      for (const std::int64_t recompute : {0, 1, 2}) {
        all.push_back({.name = "away",
                       .recompute_every = recompute,
                       .activations = tier,
                       .activation_blocks = blocks,
                       .staging_slots = 1 + (blocks + recompute) % 3});
      }
    }
  }
  return all;
}

/// Every strategy, changed by `change`, has the resident plan's losses at each number of threads, every third run
/// under random delays.
void check_losses(Family family, std::int64_t accumulate, std::initializer_list<std::int64_t> thread_counts,
                  const std::function<void(Strategy&)>& change) {
  const TemporaryFolder folder;
  const Recipe recipe = recipe_of(accumulate);
  const std::vector<double> expected = losses_of(family, recipe, {}, {.threads = 1});
  std::uint64_t run = 0;
  for (Strategy strategy : strategies()) {
    change(strategy);
    for (const std::int64_t threads : thread_counts) {
      ++run;
      CAPTURE(describe(strategy), strategy.staging_slots, threads, accumulate, run);
      const CpuOptions options{.threads = threads, .jitter_seed = run % 3 == 0 ? run : 0, .drive = {.folder = folder.path()}};
      CHECK(losses_of(family, recipe, strategy, options) == expected);
    }
  }
}

}  // namespace

TEST_CASE("where activations wait for backward changes no bit of any loss") {
  for (const Family family : {Family::kGpt2, Family::kLlama}) {
    for (const std::int64_t accumulate : {1, 3}) check_losses(family, accumulate, {1, 2}, [](Strategy&) {});
  }
}

TEST_CASE("activations may wait elsewhere while weights are streamed from the host or from the drive") {
  for (const Tier tier : {Tier::kHost, Tier::kSsd}) {
    check_losses(Family::kGpt2, 3, {2}, [tier](Strategy& strategy) {
      strategy.parameters = strategy.optimizer = tier;
      strategy.gradients = Tier::kHost;
    });
  }
}

TEST_CASE("activations may wait elsewhere while updates run during the backward pass") {
  check_losses(Family::kGpt2, 3, {2}, [](Strategy& strategy) {
    strategy.optimizer = strategy.gradients = Tier::kHost;
    strategy.update_in_backward = true;
  });
}

TEST_CASE("activations of all micro-batches wait elsewhere when they pass block by block") {
  for (const Family family : {Family::kGpt2, Family::kLlama}) {
    check_losses(family, 3, {2}, [](Strategy& strategy) { strategy.loop_order = LoopOrder::kBreadthFirst; });
  }
}

TEST_CASE("states that are shared out between the drive and host memory change no bit of any loss") {
  const TemporaryFolder folder;
  const Recipe recipe = recipe_of(1);
  const std::vector<double> expected = losses_of(Family::kGpt2, recipe, {}, {.threads = 1});
  std::uint64_t jitter = 1;
  for (const Tier parameters : {Tier::kDevice, Tier::kSsd}) {
    for (const bool during_backward : {false, true}) {
      for (const std::int64_t blocks : {1, 2, 4}) {
        const Strategy strategy{.name = "shared", .parameters = parameters, .optimizer = Tier::kSsd, .gradients = Tier::kHost,
                                .update_in_backward = during_backward, .host_state_blocks = blocks};
        CAPTURE(describe(strategy));
        const CpuOptions options{.threads = 2, .jitter_seed = jitter++, .drive = {.folder = folder.path()}};
        CHECK(losses_of(Family::kGpt2, recipe, strategy, options) == expected);
      }
    }
  }
}

}  // namespace plimsoll
