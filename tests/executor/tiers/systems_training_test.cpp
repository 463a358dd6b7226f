// Law five for every published system: its plan trains the same bits as the plan that keeps everything on the device.
#include <catch2/catch.hpp>

#include "core/plan/verify_plan.h"
#include "executor/cpu/cpu_executor.h"
#include "sim/planner/lower_to_plan.h"
#include "sim/planner/systems/offload_system.h"
#include "tests/executor/tiers/three_steps.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_training.h"

namespace plimsoll {
namespace {

std::vector<double> losses_of(const ModelSpec& spec, const Recipe& recipe, const Strategy& strategy, const CpuOptions& options) {
  return three_losses(lawful_plan(spec, recipe, strategy), options);
}

/// With as much of each open share as `share` says.
Strategy with_shares(const OffloadSystem& system, const ModelSpec& spec, const Recipe& recipe, std::int64_t share) {
  Strategy strategy = strategy_for(system, spec, recipe);
  for (const OpenChoice& open : system.open) strategy.*open.field = share;
  return strategy;
}

void check_systems(const ModelSpec& spec, const Recipe& asked) {
  const TemporaryFolder folder;
  for (const OffloadSystem& system : offload_systems()) {
    if (!system.refusal.empty()) continue;
    const Recipe recipe = recipe_for(system, asked).value();
    const std::vector<double> expected = losses_of(spec, recipe, {}, {.threads = 1});
    for (const std::int64_t share : {0, 2, 3}) {
      CAPTURE(system.name, share, to_text(recipe.precision));
      const CpuOptions options{.threads = 1 + share % 2, .jitter_seed = static_cast<std::uint64_t>(share),
                               .drive = {.folder = folder.path(), .way = IoWay::kThreads}};
      CHECK(losses_of(spec, recipe, with_shares(system, spec, recipe, share), options) == expected);
      if (system.open.empty()) break;
    }
  }
}

}  // namespace

TEST_CASE("every published system trains the same bits as the plan that keeps everything on the device") {
  Recipe recipe = tiny_recipe();
  check_systems(four_blocks(Family::kGpt2), recipe);
  recipe.precision = Precision::kBf16Mixed;
  recipe.clip = 0.5;
  check_systems(four_blocks(Family::kLlama), recipe);
}

}  // namespace plimsoll
