#include "sim/planner/share_programme.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <optional>

#include "sim/planner/refine_candidates.h"
#include "sim/planner/search_plan.h"
#include "tests/sim/planner/plain_costs.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_platform.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

constexpr std::int64_t kLayers = 6;

Platform capped(std::int64_t device, std::int64_t host) {
  Platform platform = tiny_platform();
  platform.spaces[0].usable = Bytes(device);
  platform.spaces[1].usable = Bytes(host);
  return platform;
}

/// A problem that owns what it is about.
struct Asked {
  ModelSpec spec = small_model(Family::kGpt2, kLayers);
  Recipe recipe = small_recipe();
  Platform platform;
  PlainCosts costs;

  [[nodiscard]] SearchProblem problem() const { return {spec, recipe, platform, costs}; }
  [[nodiscard]] Candidate tried(const Strategy& strategy) const { return try_strategy(problem(), strategy).value(); }
};

const Strategy kStream{.name = "stream", .recompute_every = 1, .parameters = Tier::kHost, .optimizer = Tier::kHost,
                       .gradients = Tier::kHost};

/// Of every number of blocks whose states and whose weights stay on the device.
Candidate best_of_all(const Asked& asked) {
  std::optional<Candidate> best;
  for (std::int64_t states = 0; states <= kLayers; ++states) {
    for (std::int64_t weights = 0; weights <= kLayers; ++weights) {
      Strategy strategy = kStream;
      strategy.device_state_blocks = states;
      strategy.device_parameter_blocks = weights;
      Candidate candidate = asked.tried(strategy);
      if (!best || better(candidate, *best)) best = std::move(candidate);
    }
  }
  return *best;
}

Candidate best_rounded(const Asked& asked) {
  std::optional<Candidate> best;
  const std::vector<Strategy> ways = rounded_shares(asked.problem(), kStream).value();
  for (const Strategy& strategy : ways) {
    Candidate candidate = asked.tried(strategy);
    if (!best || better(candidate, *best)) best = std::move(candidate);
  }
  return *best;
}

}  // namespace

TEST_CASE("what fits of a strategy's shares is found by the linear programme, and within a few parts in a hundred the fastest") {
  Asked asked;
  asked.platform = tiny_platform();
  const Candidate none = asked.tried(kStream);
  Strategy everything = kStream;
  everything.device_state_blocks = everything.device_parameter_blocks = kLayers;
  const Candidate all = asked.tried(everything);
  const std::int64_t least = none.needs[0].needed.count, most = all.needs[0].needed.count;
  REQUIRE(most > least);
  bool between = false;
  for (const int percent : {0, 15, 30, 50, 75, 100}) {
    CAPTURE(percent);
    asked.platform = capped(least + (most - least) * percent / 100, 1 << 30);
    const Candidate best = best_of_all(asked);
    const Candidate rounded = best_rounded(asked);
    REQUIRE(best.fits());
    REQUIRE(rounded.fits());
    CHECK(static_cast<double>(rounded.step->count) <= 1.1 * static_cast<double>(best.step->count));
    between = between || (rounded.strategy.device_state_blocks > 0 && rounded.strategy.device_state_blocks < kLayers);
  }
  CHECK(between);
}

TEST_CASE("where neither memory holds what it is asked to alone, the programme shares it out so that both do") {
  // The host has room for the states of half of the blocks: without any on the device nothing fits.
  Asked asked;
  asked.platform = tiny_platform();
  const Candidate none = asked.tried(kStream);
  Strategy half = kStream;
  half.device_state_blocks = kLayers / 2;
  const Candidate shared = asked.tried(half);
  asked.platform = capped(shared.needs[0].needed.count, shared.needs[1].needed.count);
  REQUIRE_FALSE(asked.tried(kStream).fits());
  CHECK(best_rounded(asked).fits());
}

TEST_CASE("a strategy without shares has none to choose, and one that cannot fit has none that do") {
  Asked asked;
  asked.platform = tiny_platform();
  CHECK(rounded_shares(asked.problem(), {.name = "resident"}).value().empty());
  asked.platform = capped(1024, 1024);
  CHECK(rounded_shares(asked.problem(), kStream).value().empty());
}

TEST_CASE("with the programmes' shares the search is no slower than without, under any cap") {
  Asked asked;
  asked.platform = tiny_platform();
  const std::int64_t resident = asked.tried({.name = "resident"}).needs[0].needed.count;
  for (const int percent : {80, 60, 45, 30}) {
    CAPTURE(percent);
    asked.platform = capped(resident * percent / 100, 1 << 30);
    const auto found = [&](bool fractions) {
      return search_plan(asked.spec, asked.recipe, asked.platform, asked.costs, {.fractions = fractions}).value();
    };
    CHECK_FALSE(better(found(false).candidates.front(), found(true).candidates.front()));
  }
}

TEST_CASE("who reads memory off shorter models leaves out only programmes that have no answer") {
  Asked asked;
  asked.spec.layers = 160;
  asked.platform = tiny_platform();
  const auto graph = graph_on(asked.spec, asked.recipe, asked.platform);
  Strategy half = kStream;
  half.recompute_every = 1;
  half.device_state_blocks = 80;
  const Candidate middle = asked.tried(half);
  int some = 0, none = 0;
  for (const int permille : {1100, 1003, 1001, 1000, 999, 998, 990, 900}) {
    CAPTURE(permille);
    asked.platform = capped(middle.needs[0].needed.count * permille / 1000, middle.needs[1].needed.count * permille / 1000);
    SearchProblem problem = asked.problem();
    const auto ways = rounded_shares(problem, kStream).value();
    problem.shorter = std::make_shared<ShorterModels>(*graph, asked.platform);
    CHECK(rounded_shares(problem, kStream).value() == ways);
    ++(ways.empty() ? none : some);
  }
  CHECK(some > 0);
  CHECK(none > 0);
}
