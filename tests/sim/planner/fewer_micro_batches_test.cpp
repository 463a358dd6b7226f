#include "sim/planner/fewer_micro_batches.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <random>

#include "core/plan/verify_plan.h"
#include "sim/planner/search_plan.h"
#include "sim/planner/strategy_moves.h"
#include "tests/sim/planner/plain_costs.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_platform.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

ModelSpec six_blocks() {
  ModelSpec spec = small_model(Family::kGpt2);
  spec.layers = 6;
  return spec;
}

/// Strategies on random walks from every family's starting points.
std::vector<Strategy> drawn_strategies(const ModelSpec& spec, const Recipe& recipe, int walks) {
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  const MoveLimits limits{.layers = spec.layers, .micro_batches = recipe.accumulate, .has_ssd = true,
                          .device_state_room = 2, .device_parameter_room = 2, .host_state_room = 2};
  const auto starts = candidate_strategies(spec.layers, tiny_platform(), recipe.precision, false);
  std::vector<Strategy> drawn;
  for (int walk = 0; walk < walks; ++walk) {
    Strategy strategy = starts[below(starts.size())];
    for (int step = 0; step < 4; ++step) {
      const auto moves = moves_from(strategy, limits);
      drawn.push_back(strategy = moves[below(moves.size())]);
    }
  }
  return drawn;
}

}  // namespace

TEST_CASE("a step of twenty micro-batches is read off steps of two and three: mostly within a twentieth, its memory never too low") {
  const ModelSpec spec = six_blocks();
  const Recipe recipe = small_recipe(20);
  const Platform platform = tiny_platform();
  const PlainCosts costs;
  const SearchProblem problem = prepared({spec, recipe, platform, costs, false, {}}, nullptr);
  REQUIRE(problem.fewer);
  int all = 0, near = 0;
  for (const Strategy& strategy : drawn_strategies(spec, recipe, 100)) {
    const auto read = try_strategy(problem, strategy);
    const auto whole = try_strategy(whole_step(problem), strategy);
    if (!read || !whole || !whole->step || !read->step) continue;
    const double ratio = to_seconds(*read->step) / to_seconds(*whole->step);
    INFO(describe(strategy) << ": " << ratio << " of the whole step's time");
    CHECK(ratio < 2);
    CHECK(ratio > 0.5);
    for (std::size_t i = 0; i < whole->needs.size(); ++i) CHECK(read->needs[i].needed >= whole->bounds[i]);
    ++all;
    near += std::abs(ratio - 1) < 0.05 ? 1 : 0;
  }
  CHECK(all > 60);
  CHECK(near > 0.75 * all);
}

TEST_CASE("a step of fewer than sixteen micro-batches is looked at whole") {
  const ModelSpec spec = six_blocks();
  const PlainCosts costs;
  const Platform platform = tiny_platform();
  const Recipe fifteen = small_recipe(15), sixteen = small_recipe(16);
  CHECK_FALSE(prepared({spec, fifteen, platform, costs, false, {}}, nullptr).fewer);
  CHECK(prepared({spec, sixteen, platform, costs, false, {}}, nullptr).fewer);
}

TEST_CASE("what a search of many micro-batches chooses is simulated whole, fits and keeps the law, whatever the memory") {
  const ModelSpec spec = six_blocks();
  const PlainCosts costs;
  const Recipe recipe = small_recipe(24);
  const Bytes resident = try_strategy({spec, recipe, tiny_platform(), costs}, {}).value().needs[0].needed;
  for (const std::int64_t percent : {110, 80, 60, 45}) {
    Platform platform = tiny_platform();
    platform.spaces[0].usable = Bytes(resident.count * percent / 100);
    const SearchResult found = search_plan(spec, recipe, platform, costs).value();
    INFO(percent << " % of the memory that a resident plan needs");
    REQUIRE(found.plan);
    CHECK(verify_plan(*found.plan));
    for (const SpaceNeed& need : space_needs(*found.plan)) CHECK(need.fits());
    const Candidate whole = try_strategy({spec, recipe, platform, costs}, found.plan->strategy, {.tight = true}).value();
    CHECK(found.prediction->step == *whole.step);
    CHECK(found.prediction->step == *found.candidates.front().step);
    for (const Strategy& start : candidate_strategies(spec.layers, platform, recipe.precision, false)) {
      const auto other = try_strategy({spec, recipe, platform, costs}, start);
      if (other && other->fits() && other->step) CHECK(found.prediction->step <= *other->step);
    }
  }
}
