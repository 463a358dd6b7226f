// Law five where only some blocks' weights, states and activations lie elsewhere, and some outputs of recomputed blocks stay.
#include <catch2/catch.hpp>

#include "core/plan/expand.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/executor/tiers/three_steps.h"

namespace plimsoll {
namespace {

/// What each field of the strategy that counts blocks or kernels does beside each tier that it belongs to.
std::vector<Strategy> strategies() {
  std::vector<Strategy> all;
  for (const Tier optimizer : {Tier::kHost, Tier::kSsd}) {
    for (const Tier gradients : {Tier::kDevice, Tier::kHost, Tier::kSsd}) {
      for (const bool overlapped : {false, true}) {
        all.push_back({.optimizer = optimizer, .gradients = gradients, .update_in_backward = overlapped,
                       .device_state_blocks = 2, .host_state_blocks = optimizer == Tier::kSsd ? 1 : 0});
      }
    }
    all.push_back({.parameters = optimizer, .device_parameter_blocks = 3, .optimizer = optimizer,
                   .gradients = Tier::kHost, .loop_order = LoopOrder::kBreadthFirst, .device_state_blocks = 1, .staging_slots = 3});
    all.push_back({.parameters = optimizer, .device_parameter_blocks = 2, .optimizer = optimizer, .gradients = Tier::kHost,
                   .update_in_backward = true});
  }
  for (std::int64_t kept = 1; kept < 10; ++kept) {
    all.push_back({.recompute_every = 1 + kept % 3, .kept_outputs = kept});
    all.push_back({.recompute_every = 1 + kept % 2, .kept_outputs = kept, .activations = Tier::kSsd, .activation_blocks = 4,
                   .host_activation_blocks = kept % 4, .loop_order = kept % 2 == 0 ? LoopOrder::kBreadthFirst : LoopOrder::kDepthFirst});
  }
  return all;
}

}  // namespace

TEST_CASE("what lies elsewhere for some blocks only changes no bit of any loss") {
  const std::vector<Strategy> all = strategies();
  CHECK(check_precisions(all) == all.size());
}

TEST_CASE("a recomputed block that keeps more outputs launches fewer kernels") {
  std::size_t before = 0;
  for (std::int64_t kept = 0; kept < 9; ++kept) {
    const Plan plan = lawful_plan(four_blocks(Family::kGpt2), tiny_recipe(), {.recompute_every = 1, .kept_outputs = kept});
    const std::size_t now = expand(plan, *plan.body("step")).size();
    if (kept > 0) CHECK(now < before);
    before = now;
  }
  const Plan none = lawful_plan(four_blocks(Family::kGpt2), tiny_recipe(), {});
  CHECK(expand(none, *none.body("step")).size() == before);
}

}  // namespace plimsoll
