#include "sim/planner/folded_bound.h"

#include <catch2/catch.hpp>

#include <random>

#include "sim/planner/strategy_families.h"
#include "sim/planner/strategy_moves.h"
#include "sim/planner/try_strategy.h"
#include "tests/sim/planner/plain_costs.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_platform.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

/// A search refuses by shorter models only what they find to exceed a memory by more than one part in so many.
constexpr std::int64_t kFoldedMargin = 1000;

ModelSpec deep(std::int64_t layers, Family family = Family::kGpt2) {
  ModelSpec spec = small_model(family);
  spec.layers = layers;
  return spec;
}

/// Models whose blocks are alike, and some of which every second or third has experts.
ModelSpec deep_of_kind(std::size_t kind, std::int64_t layers) {
  if (kind == 0) return deep(layers);
  if (kind == 1) return deep(layers, Family::kLlama);
  ModelSpec spec = deep(layers, Family::kMixtral);
  spec.experts.every = static_cast<std::int64_t>(kind) - 1;
  return spec;
}

/// Lower bounds of each space, of the whole model.
std::vector<SpaceNeed> whole_bound(const Graph& graph, const Platform& platform, const Strategy& strategy) {
  const auto none = [](const Plan&, const FlatBody&) { return false; };
  return space_needs(lower_to_plan(graph.spec, graph.recipe, platform, strategy, {.worth_placing = none, .graph = &graph}).value());
}

/// Strategies that treat stretches of a model of 200 blocks in different ways.
std::vector<Strategy> mixed_strategies() {
  return {
      {.name = "resident"},
      {.name = "recompute", .recompute_every = 1},
      {.name = "recompute", .recompute_every = 3},
      {.name = "stream", .recompute_every = 1, .parameters = Tier::kHost, .device_parameter_blocks = 70,
       .optimizer = Tier::kHost, .gradients = Tier::kHost},
      {.name = "stream", .recompute_every = 2, .parameters = Tier::kHost, .device_parameter_blocks = 61,
       .optimizer = Tier::kHost, .gradients = Tier::kHost, .activations = Tier::kHost, .activation_blocks = 130,
       .device_state_blocks = 40, .staging_slots = 3},
      {.name = "stream-ssd", .recompute_every = 1, .parameters = Tier::kSsd, .optimizer = Tier::kSsd, .gradients = Tier::kHost,
       .activations = Tier::kHost, .activation_blocks = 200, .host_state_blocks = 90},
      {.name = "offload-optimizer-overlapped", .optimizer = Tier::kHost, .gradients = Tier::kHost, .update_in_backward = true},
  };
}

}  // namespace

TEST_CASE("what shorter models say of a deep one is never more than it holds, and not much less") {
  const Platform platform = tiny_platform();
  const auto graph = graph_on(deep(200), small_recipe(), platform);
  ShorterModels models(*graph, platform);
  for (const Strategy& strategy : mixed_strategies()) {
    INFO(describe(strategy));
    const auto folded = folded_bound(models, strategy).value();
    REQUIRE(folded);
    const std::vector<SpaceNeed> whole = whole_bound(*graph, platform, strategy);
    for (std::size_t i = 0; i < whole.size(); ++i) {
      INFO(platform.spaces[i].name);
      CHECK((*folded)[i].needed <= whole[i].needed);
      CHECK((*folded)[i].needed.count >= whole[i].needed.count / 10 * 9);
    }
  }
}

TEST_CASE("where another part of the step holds most in a short model, the bound stays below the deep model's") {
  // One block's activations beside a head: the shorter the model, the more of its peak is logits.
  ModelSpec spec = deep(160);
  spec.vocabulary = 4096;
  const Platform platform = tiny_platform();
  const auto graph = graph_on(spec, small_recipe(), platform);
  ShorterModels models(*graph, platform);
  for (const Strategy& strategy : mixed_strategies()) {
    if (strategy.device_parameter_blocks + strategy.activation_blocks > 0) continue;
    const auto folded = folded_bound(models, strategy).value();
    REQUIRE(folded);
    const std::vector<SpaceNeed> whole = whole_bound(*graph, platform, strategy);
    for (std::size_t i = 0; i < whole.size(); ++i) CHECK((*folded)[i].needed <= whole[i].needed);
  }
}

TEST_CASE("no strategy on random walks through all of them needs as much less as a search leaves for it") {
  std::mt19937 random(11);
  const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random() % end); };
  const Platform platform = tiny_platform();
  int folds = 0;
  for (int walk = 0; walk < 24; ++walk) {
    const Recipe recipe = small_recipe(1 + static_cast<std::int64_t>(below(3)));
    const std::size_t kind = below(5);
    const auto graph = graph_on(deep_of_kind(kind, 100 + static_cast<std::int64_t>(below(60))), recipe, platform);
    ShorterModels models(*graph, platform);
    const std::int64_t layers = graph->spec.layers;
    const MoveLimits limits{.layers = layers, .micro_batches = recipe.accumulate, .has_ssd = true,
                            .device_state_room = 40, .device_parameter_room = 50, .host_state_room = 30};
    const auto starts = candidate_strategies(layers, platform, recipe.precision, false);
    Strategy strategy = starts[below(starts.size())];
    for (int step = 0; step < 6; ++step) {
      const auto moves = moves_from(strategy, limits);
      strategy = moves[below(moves.size())];
      const auto read_off = folded_bound(models, strategy);
      if (!read_off || !*read_off) continue;  // cannot be planned, or is too short
      const std::vector<SpaceNeed>& folded = **read_off;
      ++folds;
      INFO("kind " << kind << ", " << layers << " blocks: " << describe(strategy));
      const std::vector<SpaceNeed> whole = whole_bound(*graph, platform, strategy);
      for (std::size_t i = 0; i < whole.size(); ++i) {
        CHECK(folded[i].needed <= whole[i].needed + Bytes(whole[i].needed.count / kFoldedMargin));
      }
    }
  }
  CHECK(folds > 40);
}

TEST_CASE("a search for room takes what has room and refuses what has none, with shorter models as without") {
  const ModelSpec spec = deep(200);
  const Recipe recipe = small_recipe();
  const PlainCosts costs;
  for (const Strategy& strategy : mixed_strategies()) {
    INFO(describe(strategy));
    const auto needs = try_strategy({spec, recipe, tiny_platform(), costs}, strategy, {.memory = true}).value().needs;
    for (const int permille : {1001, 1000, 999, 990, 970, 800}) {
      Platform platform = tiny_platform();
      for (std::size_t i = 0; i < needs.size(); ++i) platform.spaces[i].usable = Bytes(needs[i].needed.count * permille / 1000);
      const auto graph = graph_on(spec, recipe, platform);
      SearchProblem problem{.spec = spec, .recipe = recipe, .platform = platform, .costs = costs, .odds = {}, .graph = graph};
      const bool fits = try_strategy(problem, strategy, {.memory = true}).value().fits();
      problem.shorter = std::make_shared<ShorterModels>(*graph, platform);
      INFO(permille << " in a thousand of what it needs");
      CHECK(try_strategy(problem, strategy, {.memory = true}).value().fits() == fits);
      if (permille >= 1000) CHECK(fits);
      if (permille == 800) CHECK_FALSE(fits);
    }
  }
}

TEST_CASE("blocks are left out by whole turns of what recomputes them, and every stretch keeps its place") {
  // 200 blocks in stretches of 61 and 139; transfers run 2 slots ahead: 4 * 2 + 2 * 2 = 12 stay of each at the least.
  const Strategy strategy{.name = "stream", .recompute_every = 2, .parameters = Tier::kHost, .device_parameter_blocks = 61};
  const auto folding = fold_layers(strategy, 200, 1);
  REQUIRE(folding);
  CHECK(folding->times == 5);  // sqrt(200 / 2 / (2 * 2)) = 5
  CHECK(folding->spared == std::vector<std::int64_t>{8, 24});  // 49 / 10 and 127 / 10 turns of two
  const ShorterPlan shorter = folding->shorter(strategy, 5);
  CHECK(shorter.layers == 200 - 5 * 32);
  CHECK(shorter.strategy.device_parameter_blocks == 61 - 5 * 8);
}

TEST_CASE("of a deep model blocks are left out as often as leaves least to write") {
  // 1200 blocks, of which 4 * 2 + 2 = 10 stay; sqrt(1200 / 2) = 24 times are usual, and leave 1190 / 24 = 49: 24 + 73 blocks. Of 12 to
  // 48 times 41 do best: 1190 / 41 = 29, which leave 11 + 40.
  const auto folding = fold_layers({.name = "resident"}, 1200, 1);
  REQUIRE(folding);
  CHECK(folding->times == 41);
  CHECK(folding->spared == std::vector<std::int64_t>{29});
  CHECK(folding->written(1200) == 11 + 40);
}

TEST_CASE("a model that is short, or whose blocks do not repeat, is not folded") {
  CHECK_FALSE(fold_layers({.name = "resident"}, 16, 1));
  CHECK_FALSE(fold_layers({.name = "resident"}, 200, 0));
  CHECK(fold_layers({.name = "resident"}, 200, 2));
}
