// Training of adapters beside a frozen model.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/plan/expand.h"
#include "core/plan/verify_plan.h"
#include "executor/checkpoint/training_state.h"
#include "core/model/stored_group.h"
#include "executor/cpu/cpu_executor.h"
#include "executor/kernels/block_codes.h"
#include "sim/planner/lower_to_plan.h"
#include "sim/planner/migrate_plan.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_executor.h"

namespace plimsoll {
namespace {

Recipe adapter_recipe(const ModelSpec& spec, std::int64_t accumulate = 2) {
  Recipe recipe = tiny_recipe();
  recipe.accumulate = accumulate;
  recipe.learning_rate = 1e-2;
  recipe.adapter = {.rank = 4, .alpha = 8, .targets = adapter_targets(spec)};
  return recipe;
}

Plan plan_of(const Strategy& strategy, const Recipe& recipe, const ModelSpec& spec = tiny_spec(Family::kLlama)) {
  auto plan = lower_to_plan(spec, recipe, tiny_machine(), strategy, {.evaluation = true});
  if (!plan) FAIL(plan.error().text());
  return std::move(*plan);
}

/// Where weights, states and gradients can be, with all that goes with it; nothing that makes no difference.
std::vector<Strategy> strategies() {
  constexpr Tier kTiers[] = {Tier::kDevice, Tier::kHost, Tier::kSsd};
  std::vector<Strategy> all;
  for (const Tier parameters : kTiers) {
    for (const Tier optimizer : kTiers) {
      for (const bool early : {false, true}) {
        const Tier gradients = optimizer == Tier::kDevice ? Tier::kDevice : Tier::kHost;
        Strategy made{.name = "made up", .parameters = parameters, .optimizer = optimizer, .gradients = gradients};
        made.recompute_every = static_cast<std::int64_t>(all.size() % 3);
        made.loop_order = all.size() % 2 == 0 ? LoopOrder::kDepthFirst : LoopOrder::kBreadthFirst;
        made.update_in_backward = early;
        if (all.size() % 4 == 1) made.activations = Tier::kHost, made.activation_blocks = 1;
        all.push_back(made);
      }
    }
  }
  return all;
}

std::vector<std::byte> copy_of(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

TEST_CASE("adapters begin as nothing: the first loss is the frozen model's own") {
  for (const Family family : {Family::kGpt2, Family::kLlama}) {
    const ModelSpec spec = tiny_spec(family);
    Recipe whole = adapter_recipe(spec);
    whole.adapter = {};
    const double expected = train(*executor_of(plan_of({}, whole, spec)), 0, 1).front();
    CHECK(train(*executor_of(plan_of({}, adapter_recipe(spec), spec)), 0, 1).front() == expected);
  }
}

TEST_CASE("adapters learn while the model beside them keeps every bit") {
  for (const Family family : {Family::kGpt2, Family::kLlama}) {
    const ModelSpec spec = tiny_spec(family);
    const Plan plan = plan_of({}, adapter_recipe(spec), spec);
    const auto executor = executor_of(plan);
    const ParameterLayout layout = lay_out_parameters(spec, plan.recipe.adapter);
    std::vector<std::vector<std::byte>> before;
    for (std::size_t g = 0; g < layout.groups.size(); ++g)
      before.push_back(copy_of(executor->state(TensorKind::kParameter, GroupId(g))));
    const std::vector<double> losses = train(*executor, 0, 60);
    CHECK(losses.back() < losses.front() - 0.3);
    for (std::size_t g = 0; g < layout.groups.size(); ++g) {
      INFO(layout.groups[g].name);
      CHECK((before[g] == copy_of(executor->state(TensorKind::kParameter, GroupId(g)))) == layout.groups[g].frozen);
    }
  }
}

TEST_CASE("wherever the frozen model and the adapters' states are, losses are bitwise the same under random delays") {
  const TemporaryFolder folder;
  for (const std::int64_t accumulate : {1, 3}) {
    const Recipe recipe = adapter_recipe(tiny_spec(Family::kLlama), accumulate);
    const std::vector<double> expected = train(*executor_of(plan_of({}, recipe), {.threads = 1}), 0, 4);
    std::uint64_t jitter = 1;
    for (const Strategy& strategy : strategies()) {
      CAPTURE(describe(strategy), accumulate, jitter);
      const Plan plan = plan_of(strategy, recipe);
      REQUIRE(verify_plan(plan));
      const auto executor = executor_of(plan, {.threads = 2, .jitter_seed = jitter++, .drive = {.folder = folder.path()}});
      CHECK(train(*executor, 0, 4) == expected);
      CHECK(executor->check_touched());
    }
  }
}

TEST_CASE("a frozen model is never written: not to the host, not to a drive") {
  const ModelSpec spec = tiny_spec(Family::kLlama);
  for (const Strategy& strategy : strategies()) {
    const Plan plan = plan_of(strategy, adapter_recipe(spec));
    const ParameterLayout layout = lay_out_parameters(spec, plan.recipe.adapter);
    std::vector<char> frozen(plan.buffers.size(), 0);
    for (const StateBinding& binding : plan.state) {
      CHECK((binding.kind == TensorKind::kParameter || !layout.at(binding.group).frozen));
      if (layout.at(binding.group).frozen) frozen[binding.buffer.index] = 1;
    }
    const FlatBody body = expand(plan, *plan.body("step"));
    for (const Instruction& instruction : body.list.instructions) {
      for (const Use& use : body.uses(instruction)) {
        if (writes(use.access)) CHECK(frozen[use.target] == 0);
      }
    }
  }
}

TEST_CASE("training of adapters is resumed bit for bit from a checkpoint that holds them alone") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.file("state.safetensors");
  const ModelSpec spec = tiny_spec(Family::kLlama);
  const Recipe recipe = adapter_recipe(spec);
  const std::vector<double> whole = train(*executor_of(plan_of({}, recipe)), 0, 7);
  const auto first = executor_of(plan_of({}, recipe));
  train(*first, 0, 3);
  REQUIRE(save_training_state(path, spec, recipe, 3,
                              [&](TensorKind kind, GroupId group) { return first->state(kind, group); }, {.base = "models/base"}));
  const ParameterLayout layout = lay_out_parameters(spec, recipe.adapter);
  CHECK(std::filesystem::file_size(path) < static_cast<std::uintmax_t>(3 * 4 * layout.trained_elements() + 8192));
  for (const Strategy& strategy : {Strategy{}, Strategy{.parameters = Tier::kHost}, Strategy{.optimizer = Tier::kHost}}) {
    const auto second = executor_of(plan_of(strategy, recipe));
    const auto done = load_training_state(path, spec, recipe, [&](TensorKind kind, GroupId group, const FillState& fill) {
      second->set_state(kind, group, fill);
    });
    if (!done) FAIL(done.error().text());
    CHECK(train(*second, *done, 4) == std::vector<double>(whole.begin() + 3, whole.end()));
  }
}

TEST_CASE("a run's state moves between layouts of a frozen model and goes on bit for bit") {
  const TemporaryFolder folder;
  const ModelSpec spec = tiny_spec(Family::kLlama);
  const Recipe recipe = adapter_recipe(spec);
  const std::vector<double> whole = train(*executor_of(plan_of({}, recipe)), 0, 6);
  const std::vector<double> rest(whole.begin() + 3, whole.end());
  const std::vector<Strategy> all = strategies();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Plan from = plan_of(all[i], recipe), to = plan_of(all[(i * 5 + 7) % all.size()], recipe);
    CAPTURE(describe(from.strategy), describe(to.strategy));
    const auto executor = executor_of(from, {.drive = {.folder = folder.path()}});
    train(*executor, 0, 3);
    const auto migration = migrate_plan(from, to, 3);
    if (!migration) FAIL(migration.error().text());
    const auto moved = executor->migrate(migration->plan, to);
    if (!moved) FAIL(moved.error().text());
    CHECK(train(*executor, 3, 3) == rest);
  }
}

TEST_CASE("a frozen model streams through the device beside adapters that the device updates") {
  const ModelSpec spec = tiny_spec(Family::kLlama);
  const Plan streamed = plan_of({.parameters = Tier::kHost}, adapter_recipe(spec));
  const Plan resident = plan_of({}, adapter_recipe(spec));
  const SpaceId device = *streamed.platform.space(SpaceKind::kDevice);
  const ParameterLayout layout = lay_out_parameters(spec, streamed.recipe.adapter);
  CHECK(streamed.arena_bytes(device) < resident.arena_bytes(device) - Bytes(2 * layout.at(layout.block(0)).elements));
  const auto refused = lower_to_plan(spec, tiny_recipe(), tiny_machine(), {.parameters = Tier::kHost}, {});
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().text(), Catch::Contains("streams weights that the device itself would update"));
}

TEST_CASE("a frozen model in fewer bits gives bitwise the same losses wherever it is") {
  const TemporaryFolder folder;
  for (const BaseStorage base : {BaseStorage::kBf16, BaseStorage::kInt8, BaseStorage::kNf4}) {
    Recipe recipe = adapter_recipe(tiny_spec(Family::kLlama));
    recipe.adapter.base = base;
    const std::vector<double> expected = train(*executor_of(plan_of({}, recipe), {.threads = 1}), 0, 4);
    std::uint64_t jitter = 1;
    const std::vector<Strategy> all = strategies();
    for (std::size_t i = static_cast<std::size_t>(base) % 2; i < all.size(); i += 2) {
      CAPTURE(describe(all[i]), to_text(base), jitter);
      const Plan plan = plan_of(all[i], recipe);
      REQUIRE(verify_plan(plan));
      const auto executor = executor_of(plan, {.threads = 2, .jitter_seed = jitter++, .drive = {.folder = folder.path()}});
      CHECK(train(*executor, 0, 4) == expected);
      CHECK(executor->check_touched());
    }
  }
}

TEST_CASE("in bf16-mixed a frozen model has no master copy, and losses are bitwise the same wherever it is") {
  const TemporaryFolder folder;
  for (const BaseStorage base : {BaseStorage::kCompute, BaseStorage::kNf4}) {
    Recipe recipe = adapter_recipe(tiny_spec(Family::kLlama));
    recipe.precision = Precision::kBf16Mixed;
    recipe.adapter.base = base;
    const Plan resident = plan_of({}, recipe);
    const ParameterLayout layout = lay_out_parameters(resident.spec, recipe.adapter);
    for (const StateBinding& state : resident.state) {
      CHECK((state.kind == TensorKind::kParameter || !layout.at(state.group).frozen));
    }
    const std::vector<double> expected = train(*executor_of(resident, {.threads = 1}), 0, 4);
    for (const double loss : expected) CHECK(loss == Approx(expected.front()).epsilon(0.2));
    const std::vector<Strategy> all = strategies();
    for (std::size_t i = 1; i < all.size(); i += 3) {
      CAPTURE(describe(all[i]), to_text(base));
      const auto executor = executor_of(plan_of(all[i], recipe), {.threads = 2, .drive = {.folder = folder.path()}});
      CHECK(train(*executor, 0, 4) == expected);
    }
  }
}

TEST_CASE("a frozen model in fewer bits trains as the weights that its codes stand for, bit for bit") {
  for (const Family family : {Family::kGpt2, Family::kLlama}) {
    const ModelSpec spec = tiny_spec(family);
    std::vector<std::vector<double>> losses;
    for (const BaseStorage base : {BaseStorage::kBf16, BaseStorage::kInt8, BaseStorage::kNf4}) {
      Recipe recipe = adapter_recipe(spec);
      const auto decoded = executor_of(plan_of({}, recipe, spec));
      recipe.adapter.base = base;
      const auto coded = executor_of(plan_of({}, recipe, spec));
      const ParameterLayout layout = lay_out_parameters(spec, recipe.adapter);
      for (std::int64_t layer = 0; layer < spec.layers; ++layer) {
        const ParameterGroup& group = layout.at(layout.block(layer));
        const std::vector<std::byte> codes = copy_of(coded->state(TensorKind::kParameter, layout.block(layer)));
        decoded->set_state(TensorKind::kParameter, layout.block(layer), [&](std::span<std::byte> place) {
          for (const ParameterTensor& tensor : group.tensors) {
            if (tensor.storage == BaseStorage::kCompute) continue;
            const StoredTensor at = stored_tensor(group, tensor, DType::kFp32);
            const std::span values(reinterpret_cast<float*>(place.data()) + tensor.offset,
                                   static_cast<std::size_t>(tensor.elements()));
            decode(tensor.storage, std::span(codes).subspan(static_cast<std::size_t>(at.offset.count)), tensor.elements(), 0,
                   values);
          }
        });
      }
      losses.push_back(train(*coded, 0, 5));
      CHECK(losses.back() == train(*decoded, 0, 5));
    }
    CHECK(losses[0] != losses[1]);
    CHECK(losses[1] != losses[2]);
  }
}
}  // namespace plimsoll
