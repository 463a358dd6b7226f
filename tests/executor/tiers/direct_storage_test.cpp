// Training on a machine whose drive and device exchange data without host memory.
#include <catch2/catch.hpp>

#include "core/plan/expand.h"
#include "executor/checkpoint/training_state.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/support/direct_ways.h"
#include "tests/support/state_layouts.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_executor.h"

namespace plimsoll {
namespace {

Plan plan_of(const Strategy& strategy, const Recipe& recipe, bool direct, const ModelSpec& spec = tiny_spec()) {
  const Platform machine = direct ? test::with_direct_ways(tiny_machine()) : tiny_machine();
  auto plan = lower_to_plan(spec, recipe, machine, strategy, {.evaluation = true});
  if (!plan) FAIL(plan.error().text());
  return std::move(*plan);
}

/// What passes between drive and device: weights on their way to compute, activations, gradients that wait for their update.
std::vector<Strategy> on_the_drive() {
  std::vector<Strategy> all;
  for (const std::int64_t slots : {1, 3}) {
    for (const LoopOrder order : {LoopOrder::kDepthFirst, LoopOrder::kBreadthFirst}) {
      all.push_back({.name = "weights", .recompute_every = 1, .parameters = Tier::kSsd, .optimizer = Tier::kSsd,
                     .gradients = Tier::kHost, .loop_order = order, .staging_slots = slots});
      all.push_back({.name = "activations", .activations = Tier::kSsd, .activation_blocks = 2, .loop_order = order,
                     .staging_slots = slots});
      all.push_back({.name = "gradients", .optimizer = Tier::kSsd, .gradients = Tier::kSsd, .loop_order = order,
                     .staging_slots = slots});
      all.push_back({.name = "all of them", .recompute_every = 1, .parameters = Tier::kSsd, .optimizer = Tier::kSsd,
                     .gradients = Tier::kSsd, .activations = Tier::kSsd, .activation_blocks = 2, .host_activation_blocks = 1,
                     .loop_order = order, .staging_slots = slots});
      all.push_back({.name = "early updates", .parameters = Tier::kSsd, .optimizer = Tier::kSsd, .gradients = Tier::kSsd,
                     .loop_order = order, .update_in_backward = true, .staging_slots = slots});
      all.push_back({.name = "states", .optimizer = Tier::kSsd, .gradients = Tier::kHost, .loop_order = order,
                     .device_update_blocks = 2, .staging_slots = slots});
      all.push_back({.name = "states, early", .parameters = Tier::kSsd, .optimizer = Tier::kSsd, .gradients = Tier::kSsd,
                     .loop_order = order, .update_in_backward = true, .device_update_blocks = 1, .staging_slots = slots});
    }
  }
  return all;
}

std::int64_t direct_transfers(const Plan& plan) {
  const FlatBody body = expand(plan, *plan.body("step"));
  std::int64_t count = 0;
  for (const Instruction& instruction : body.list.instructions) {
    if (instruction.kind != InstructionKind::kRead && instruction.kind != InstructionKind::kWrite) continue;
    for (const Use& use : body.uses(instruction)) {
      count += plan.platform.at(plan.buffers[use.target].space).kind == SpaceKind::kDevice ? 1 : 0;
    }
  }
  return count;
}

}  // namespace

TEST_CASE("what passes between drive and device without host memory changes no bit of any loss, under random delays") {
  const TemporaryFolder folder;
  std::uint64_t jitter = 1;
  for (const auto& [accumulate, clip] : {std::pair(std::int64_t{1}, 0.9), std::pair(std::int64_t{3}, 0.0)}) {  // 0.9 clips some steps
    Recipe recipe = tiny_recipe();
    recipe.accumulate = accumulate;
    recipe.clip = clip;
    const std::vector<double> expected = train(*executor_of(plan_of({}, recipe, false), {.threads = 1}), 0, 4);
    for (const Strategy& strategy : on_the_drive()) {
      CAPTURE(describe(strategy), strategy.name, recipe.accumulate, recipe.clip, jitter);
      const Plan plan = plan_of(strategy, recipe, true);
      const bool none = strategy.name == "gradients" && recipe.accumulate > 1 && strategy.loop_order == LoopOrder::kDepthFirst;
      CHECK((direct_transfers(plan) == 0) == none);  // sums over micro-batches that the host makes
      const auto executor = executor_of(plan, {.threads = 2, .jitter_seed = jitter++, .drive = {.folder = folder.path()}});
      CHECK(train(*executor, 0, 4) == expected);
      CHECK(executor->check_touched());
      CHECK(executor->source().find("not whole blocks") == std::string::npos);
    }
  }
}

TEST_CASE("direct storage gives the bits of every precision, of tied heads and frozen weights, and of delayed updates") {
  const TemporaryFolder folder;
  const std::vector<Strategy> all = on_the_drive();
  std::uint64_t jitter = 1;
  const auto check = [&](const Recipe& recipe, const ModelSpec& spec, const Strategy& strategy) {
    CAPTURE(describe(strategy), strategy.name, jitter);
    const std::vector<double> expected = train(*executor_of(plan_of({}, recipe, false, spec), {.threads = 1}), 0, 3);
    const auto executor = executor_of(plan_of(strategy, recipe, true, spec),
                                      {.threads = 2, .jitter_seed = jitter++, .drive = {.folder = folder.path()}});
    CHECK(train(*executor, 0, 3) == expected);
  };
  for (const Precision precision : {Precision::kBf16Mixed, Precision::kFp16Mixed}) {
    Recipe recipe = tiny_recipe();
    recipe.precision = precision;
    recipe.accumulate = 1;
    for (const Strategy& strategy : {all[0], all[3], all[4], all[5], all[6]}) check(recipe, tiny_spec(Family::kLlama), strategy);
  }
  Recipe single = tiny_recipe();
  single.accumulate = 1;
  REQUIRE(tiny_spec().tied_head);
  check(single, tiny_spec(), all[2]);
  Recipe lora = tiny_recipe();
  lora.adapter = {.rank = 2, .alpha = 4, .targets = adapter_targets(tiny_spec(Family::kLlama))};
  check(lora, tiny_spec(Family::kLlama), {.name = "frozen weights", .parameters = Tier::kSsd});
  Recipe delayed = single;
  delayed.delay = 1;
  check(delayed, tiny_spec(), {.name = "delayed", .optimizer = Tier::kSsd, .gradients = Tier::kSsd});
}

TEST_CASE("states on a drive that only the device reads are stored and restored bit for bit") {
  const TemporaryFolder folder;
  const DriveOptions drive{.folder = folder.path()};
  const std::filesystem::path path = folder.file("state.safetensors");
  Recipe recipe = tiny_recipe();
  recipe.precision = Precision::kBf16Mixed;
  const Strategy weights = on_the_drive()[0];
  const std::vector<double> whole = train(*executor_of(plan_of({}, recipe, false)), 0, 6);
  const auto first = executor_of(plan_of(weights, recipe, true), {.drive = drive});
  train(*first, 0, 3);
  const ReadState read = [&](TensorKind kind, GroupId group) { return first->state(kind, group); };
  REQUIRE(save_training_state(path, tiny_spec(), recipe, 3, read));
  CHECK(train(*first, 3, 3) == std::vector<double>(whole.begin() + 3, whole.end()));
  const auto second = executor_of(plan_of(weights, recipe, true), {.drive = drive});
  const WriteState write = [&](TensorKind kind, GroupId group, const FillState& fill) { second->set_state(kind, group, fill); };
  REQUIRE(load_training_state(path, tiny_spec(), recipe, write));
  CHECK(train(*second, 3, 3) == std::vector<double>(whole.begin() + 3, whole.end()));
}

}  // namespace plimsoll
