#include "sim/planner/systems/compare_systems.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <random>

#include "core/plan/verify_plan.h"
#include "sim/planner/search_plan.h"
#include "sim/planner/systems/offload_system.h"
#include "tests/sim/planner/plain_costs.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_platform.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

Platform capped(Bytes device) {
  Platform platform = tiny_platform();
  platform.spaces[0].usable = device;
  return platform;
}

const ModelSpec kModel = small_model(Family::kGpt2);

SearchResult plan_named(std::string_view name, const Platform& platform) {
  const Recipe recipe = recipe_for(*find_system(name), small_recipe()).value();
  return search_plan(kModel, recipe, platform, PlainCosts(), {.strategy = std::string(name)}).value();
}

Bytes device_of(const SearchResult& result) { return result.plan->arena_bytes(SpaceId(0)); }

}  // namespace

TEST_CASE("every system that is planned obeys the law of plans and bears its name") {
  for (const OffloadSystem& system : offload_systems()) {
    if (!system.refusal.empty()) continue;
    CAPTURE(system.name);
    const SearchResult result = plan_named(system.name, tiny_platform());
    REQUIRE(result.plan);
    CHECK(result.plan->strategy.name == system.name);
    const auto verified = verify_plan(*result.plan);
    if (!verified) FAIL(verified.error().text());
  }
}

TEST_CASE("a system that is not planned says why") {
  const auto zenflow = search_plan(kModel, small_recipe(), tiny_platform(), PlainCosts(), {.strategy = "zenflow"});
  REQUIRE_FALSE(zenflow);
  CHECK_THAT(zenflow.error().text(), Catch::Contains("another optimizer"));
}

TEST_CASE("a share that is to be the largest fits, and one block more does not") {
  const Bytes least = device_of(plan_named("gemini-static", tiny_platform()));
  const Platform platform = capped(least + Bytes(least.count / 3));
  const SearchResult gemini = plan_named("gemini", platform);
  REQUIRE(gemini.plan);
  const Strategy chosen = gemini.plan->strategy;
  CHECK(chosen.device_parameter_blocks > 0);
  Strategy more = chosen;
  ++more.device_parameter_blocks;
  if (more.device_parameter_blocks > kModel.layers) return;
  const auto plan = lower_to_plan(kModel, small_recipe(), platform, more);
  REQUIRE(plan);
  CHECK_FALSE(space_needs(*plan).front().fits());
}

TEST_CASE("the fastest share is no slower than none and than all") {
  const SearchResult twin = plan_named("twin-flow", tiny_platform());
  REQUIRE(twin.plan);
  for (const std::int64_t share : {std::int64_t{0}, kModel.layers}) {
    Strategy other = twin.plan->strategy;
    other.device_state_blocks = share;
    const auto plan = lower_to_plan(kModel, small_recipe(), tiny_platform(), other);
    REQUIRE(plan);
    CHECK(twin.prediction->step <= predict_step(*plan, PlainCosts()).value());
  }
}

TEST_CASE("the comparison has every system once, and ours is no slower than any that trains the same numbers") {
  const Recipe recipe = small_recipe();
  const Platform platform = capped(device_of(plan_named("zero-offload", tiny_platform())));
  const PlainCosts costs;
  const SystemComparison all = compare_systems({kModel, recipe, platform, costs}).value();
  CHECK(all.published.size() + all.left_out.size() == offload_systems().size());
  CHECK(all.own.fits);
  for (const FitAnswer& answer : all.published) {
    const bool same_numbers = find_system(answer.strategy.name)->delay == 0;
    CAPTURE(answer.strategy.name);
    if (answer.fits && same_numbers) CHECK(all.own.step_seconds <= answer.step_seconds);
  }
}

TEST_CASE("on a machine without a drive the systems that need one are left out with the reason") {
  Platform platform = tiny_platform();
  platform.spaces.pop_back();
  const Recipe recipe = small_recipe();
  const PlainCosts costs;
  if (platform.space(SpaceKind::kSsd)) return;
  const auto all = compare_systems({kModel, recipe, platform, costs});
  REQUIRE(all);
  const bool told = std::any_of(all->left_out.begin(), all->left_out.end(), [](const LeftOut& left) {
    return left.system == "zero-infinity" && left.why.find("SSD") != std::string::npos;
  });
  CHECK(told);
}

TEST_CASE("the search by itself is no slower than any system of its recipe, and fits wherever one does, whatever memory holds") {
  std::mt19937 random(11);
  const Platform all = tiny_platform();
  const Bytes most = device_of(plan_named("selective-recompute", all));
  std::size_t both = 0, neither = 0;
  for (int i = 0; i < 24; ++i) {
    Platform platform = capped(Bytes(most.count * static_cast<std::int64_t>(5 + random() % 100) / 100));
    platform.spaces[1].usable = Bytes(2 * most.count * static_cast<std::int64_t>(5 + random() % 100) / 100);
    const auto own = search_plan(kModel, small_recipe(), platform, PlainCosts());
    REQUIRE(own);
    for (const OffloadSystem& system : offload_systems()) {
      if (system.delay > 0 || !system.refusal.empty()) continue;
      CAPTURE(i, system.name);
      const SearchResult named = plan_named(system.name, platform);
      const bool fits = own->candidates.front().fits();
      if (named.plan) REQUIRE(fits);
      if (named.plan) CHECK(own->prediction->step <= named.prediction->step);
      (named.plan ? both : neither) += 1;
    }
  }
  CHECK(both > 50);
  CHECK(neither > 20);
}
