// Training with every optimizer: law 5 holds for each, and each learns.
#include <catch2/catch.hpp>

#include <cmath>
#include <filesystem>

#include "core/graph/optimizer_state.h"
#include "executor/checkpoint/training_state.h"
#include "executor/cpu/cpu_executor.h"
#include "sim/planner/lower_to_plan.h"
#include "sim/planner/migrate_plan.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_executor.h"

namespace plimsoll {
namespace {

/// Wide enough that matrices have 8-bit moments while vectors have not.
ModelSpec spec() {
  ModelSpec spec = tiny_spec();
  spec.hidden = 64;
  spec.head_dim = 16;
  spec.ffn = 96;
  return spec;
}

/// A rate at which the rule learns the text in a hundred steps.
double rate_of(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::kSgd: return 0.5;
    case OptimizerKind::kMomentum:
    case OptimizerKind::kLars: return 0.1;
    case OptimizerKind::kLamb:
    case OptimizerKind::kSm3:
    case OptimizerKind::kAdafactor: return 0.03;
    case OptimizerKind::kLion: return 1e-3;
    case OptimizerKind::kMuon: return 0.01;
    default: return 3e-3;
  }
}

Recipe recipe_of(OptimizerKind kind, double clip = 1.5) {
  Recipe recipe = with_optimizer(tiny_recipe(), kind);
  recipe.learning_rate = rate_of(kind);
  if (kind == OptimizerKind::kLars) recipe.trust = 0.1;
  recipe.accumulate = 1;
  recipe.clip = clip;
  return recipe;
}

std::vector<OptimizerKind> all_optimizers() {
  std::vector<OptimizerKind> all;
  for (int kind = 0; kind <= static_cast<int>(OptimizerKind::kMuon); ++kind) all.push_back(static_cast<OptimizerKind>(kind));
  return all;
}

/// Whether its states may be as short as its weights.
bool bears_two_bytes(OptimizerKind kind) { return !rule_of(kind).whole_tensors || kind == OptimizerKind::kMuon; }

Plan plan_of(const Strategy& strategy, const Recipe& recipe) {
  auto plan = lower_to_plan(spec(), recipe, tiny_machine(), strategy, {.evaluation = true});
  if (!plan) FAIL(plan.error().text());
  return std::move(*plan);
}

/// Each tier that states can lie in, updates after the backward pass and during it.
std::vector<Strategy> strategies() {
  return {{.name = "resident"},
          {.name = "host", .recompute_every = 1, .optimizer = Tier::kHost, .gradients = Tier::kHost},
          {.name = "ssd", .optimizer = Tier::kSsd, .gradients = Tier::kHost, .staging_slots = 3},
          {.name = "stream-ssd", .recompute_every = 1, .parameters = Tier::kSsd, .optimizer = Tier::kSsd,
           .gradients = Tier::kHost},
          {.name = "overlapped", .update_in_backward = true},
          {.name = "overlapped-host", .parameters = Tier::kHost, .optimizer = Tier::kHost, .gradients = Tier::kHost,
           .update_in_backward = true},
          {.name = "overlapped-ssd", .optimizer = Tier::kSsd, .gradients = Tier::kHost, .update_in_backward = true,
           .host_state_blocks = 1}};
}

}  // namespace

TEST_CASE("every optimizer learns a repetitive text") {
  for (const OptimizerKind kind : all_optimizers()) {
    const std::vector<double> losses = train(*executor_of(plan_of({}, recipe_of(kind)), {}), 0, 100);
    CAPTURE(to_text(kind), losses.front(), losses.back());
    CHECK(losses.front() == Approx(std::log(128.0)).margin(0.1));
    CHECK(losses.back() < 1);
  }
}

TEST_CASE("in bf16-mixed every optimizer keeps to its losses in fp32 within one part in fifty over ten steps") {
  for (const OptimizerKind kind : all_optimizers()) {
    Recipe mixed = recipe_of(kind);
    mixed.precision = Precision::kBf16Mixed;
    const std::vector<double> wide = train(*executor_of(plan_of({}, recipe_of(kind)), {}), 0, 10);
    const std::vector<double> ours = train(*executor_of(plan_of({}, mixed), {}), 0, 10);
    for (std::size_t i = 0; i < ours.size(); ++i) {
      CAPTURE(to_text(kind), i);
      CHECK(ours[i] == Approx(wide[i]).epsilon(0.02));
    }
  }
}

TEST_CASE("8-bit Adam's losses follow those of 32-bit moments within one part in fifty over sixty steps") {
  const Recipe narrow = recipe_of(OptimizerKind::kAdam8bit);
  Recipe wide = narrow;
  wide.optimizer = OptimizerKind::kAdamW;
  const std::vector<double> expected = train(*executor_of(plan_of({}, wide), {}), 0, 60);
  const std::vector<double> ours = train(*executor_of(plan_of({}, narrow), {}), 0, 60);
  double worst = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) worst = std::max(worst, std::abs(ours[i] / expected[i] - 1));
  CAPTURE(worst, expected.back());
  CHECK(expected.back() < 2.5);
  CHECK(worst < 0.02);
  CHECK(worst > 0);
}

TEST_CASE("no strategy changes a bit of any optimizer's losses, whether steps clip or not, under random delays") {
  const TemporaryFolder folder;
  std::uint64_t jitter = 1;
  for (const OptimizerKind kind : all_optimizers()) {
    for (const auto& [precision, clip] : {std::pair(Precision::kFp32, 0.0), std::pair(Precision::kFp32, 1.5),
                                          std::pair(Precision::kBf16Mixed, 1.5), std::pair(Precision::kBf16, 1.5)}) {
      if (precision == Precision::kBf16 && !bears_two_bytes(kind)) continue;
      Recipe recipe = recipe_of(kind, clip);
      recipe.precision = precision;
      recipe.accumulate = 1 + static_cast<std::int64_t>(jitter % 2);
      const std::vector<double> expected = train(*executor_of(plan_of({}, recipe), {.threads = 1}), 0, 5);
      for (const Strategy& strategy : strategies()) {
        CAPTURE(to_text(kind), strategy.name, to_text(precision), clip, jitter);
        const CpuOptions options{
            .threads = 1 + static_cast<std::int64_t>(jitter % 2), .jitter_seed = jitter, .drive = {.folder = folder.path()}};
        ++jitter;
        const auto executor = executor_of(plan_of(strategy, recipe), options);
        CHECK(train(*executor, 0, 5) == expected);
        CHECK(executor->check_touched());
      }
    }
  }
}

TEST_CASE("evaluations between steps read the newest weights of every optimizer") {
  const TemporaryFolder folder;
  for (const OptimizerKind kind : all_optimizers()) {
    const Recipe recipe = recipe_of(kind);
    const auto resident = executor_of(plan_of({}, recipe), {});
    const auto executor = executor_of(plan_of(strategies().back(), recipe), {.drive = {.folder = folder.path()}});
    for (const std::int64_t done : {0, 1, 2}) {
      CAPTURE(to_text(kind), done);
      CHECK(executor->evaluate(kText, 2).value() == resident->evaluate(kText, 2).value());
      CHECK(train(*executor, done, 1) == train(*resident, done, 1));
    }
  }
}

TEST_CASE("every optimizer's run is resumed bit for bit, and goes on bit for bit after a move to another layout") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.file("state.safetensors");
  const CpuOptions options{.drive = {.folder = folder.path()}};
  for (const OptimizerKind kind : all_optimizers()) {
    const Recipe recipe = recipe_of(kind);
    const std::vector<double> whole = train(*executor_of(plan_of({}, recipe), {}), 0, 6);
    const std::vector<double> rest(whole.begin() + 3, whole.end());
    for (const std::size_t before : {std::size_t{0}, std::size_t{2}, std::size_t{5}}) {
      const std::size_t after = (before + 3) % strategies().size();
      CAPTURE(to_text(kind), strategies()[before].name, strategies()[after].name);
      const Plan old = plan_of(strategies()[before], recipe), next = plan_of(strategies()[after], recipe);
      const auto first = executor_of(old, options);
      train(*first, 0, 3);
      const ReadState read = [&](TensorKind state, GroupId group) { return first->state(state, group); };
      REQUIRE(save_training_state(path, spec(), recipe, 3, read));
      const auto second = executor_of(next, options);
      const auto done = load_training_state(path, spec(), recipe, [&](TensorKind state, GroupId group, const FillState& fill) {
        second->set_state(state, group, fill);
      });
      REQUIRE(done);
      CHECK(train(*second, 3, 3) == rest);
      const auto migration = migrate_plan(old, next, 3);
      REQUIRE(migration);
      REQUIRE(first->migrate(migration->plan, next));
      CHECK(train(*first, 3, 3) == rest);
    }
  }
}

TEST_CASE("a training state of another optimizer is refused with both names") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.file("state.safetensors");
  const Recipe lion = recipe_of(OptimizerKind::kLion);
  const auto executor = executor_of(plan_of({}, lion), {});
  const ReadState read = [&](TensorKind kind, GroupId group) { return executor->state(kind, group); };
  REQUIRE(save_training_state(path, spec(), lion, 1, read));
  const auto loaded = load_training_state(path, spec(), recipe_of(OptimizerKind::kAdam8bit),
                                          [](TensorKind, GroupId, const FillState&) { FAIL("written"); });
  REQUIRE_FALSE(loaded);
  CHECK_THAT(loaded.error().text(), Catch::Contains("of the optimizer lion, and this run's is adam8bit") &&
                                        Catch::Contains("--optimizer lion"));
}

}  // namespace plimsoll
