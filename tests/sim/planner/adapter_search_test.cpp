#include <catch2/catch.hpp>

#include "core/plan/expand.h"
#include "core/plan/verify_plan.h"
#include "sim/planner/search_plan.h"
#include "tests/sim/planner/plain_costs.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_platform.h"

namespace plimsoll::test {
namespace {

/// A model whose weights are most of what it needs.
ModelSpec wide_model() {
  ModelSpec spec = small_model(Family::kLlama, 6);
  spec.hidden = 64;
  spec.head_dim = 16;
  spec.ffn = 512;
  return spec;
}

Recipe recipe_beside(BaseStorage base = BaseStorage::kCompute) {
  Recipe recipe = small_recipe();
  recipe.sequence = 8;
  recipe.adapter = {.rank = 2, .alpha = 4, .targets = {AdapterTarget::kQuery, AdapterTarget::kValue}, .base = base};
  return recipe;
}

SearchResult search(const Recipe& recipe, Bytes device, Bytes host = kGiB) {
  Platform platform = tiny_platform();
  platform.spaces[0].usable = device;
  platform.spaces[1].usable = host;
  return search_plan(wide_model(), recipe, platform, PlainCosts(), {}).value();
}

Bytes device_need(const Recipe& recipe) { return search(recipe, kGiB).plan->arena_bytes(SpaceId(0)); }

}  // namespace

TEST_CASE("adapters need less of the device than training the model, and fewer bits of the model less again") {
  Recipe whole = recipe_beside();
  whole.adapter = {};
  const Bytes adapters = device_need(recipe_beside());
  CHECK(adapters * 2 < device_need(whole));  // no gradients, no moments
  CHECK(device_need(recipe_beside(BaseStorage::kBf16)) < adapters);
  CHECK(device_need(recipe_beside(BaseStorage::kNf4)) < device_need(recipe_beside(BaseStorage::kInt8)));
}

TEST_CASE("a frozen model that does not fit the device streams through it while the device updates the adapters") {
  const Bytes cap = Bytes(device_need(recipe_beside()).count / 2);
  const SearchResult result = search(recipe_beside(), cap);
  REQUIRE(result.plan);
  CHECK(verify_plan(*result.plan));
  CHECK(result.plan->strategy.parameters == Tier::kHost);
  CHECK(result.plan->strategy.optimizer == Tier::kDevice);
  Recipe whole = recipe_beside();
  whole.adapter = {};
  const SearchResult trained = search(whole, cap);
  REQUIRE(trained.plan);
  CHECK(result.prediction->step < trained.prediction->step);
}

TEST_CASE("a frozen model that fits neither memory streams from the SSD, and no step writes it back") {
  const Bytes need = device_need(recipe_beside());
  const SearchResult result = search(recipe_beside(), Bytes(need.count / 2), Bytes(need.count / 2));
  REQUIRE(result.plan);
  CHECK(result.plan->strategy.parameters == Tier::kSsd);
  const FlatBody step = expand(*result.plan, *result.plan->body("step"));
  const ParameterLayout layout = lay_out_parameters(result.plan->spec, result.plan->recipe.adapter);
  for (const StateBinding& state : result.plan->state) {
    if (!layout.at(state.group).frozen) continue;
    for (const Use& use : step.list.uses) CHECK((use.target != state.buffer.index || use.access == Access::kRead));
  }
}

}  // namespace plimsoll::test
