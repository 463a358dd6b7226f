#include "sim/planner/systems/offload_system.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/graph.h"
#include "sim/cost/kernel_work.h"
#include "sim/planner/strategy_families.h"
#include "sim/planner/systems/checkpoint_segments.h"

namespace plimsoll {
namespace {

/// Matrix products and attention of one block's forward pass.
std::int64_t products_of_block(const ModelSpec& spec, const Recipe& recipe) {
  ModelSpec one = spec;
  one.layers = 1;
  const Graph graph = build_training_graph(one, recipe);
  return std::count_if(graph.ops.begin(), graph.ops.end(), [](const Op& op) {
    const KernelSort sort = sort_of(op.kind);
    return op.phase == Phase::kForward && op.block == 0 &&
           (sort == KernelSort::kProduct || sort == KernelSort::kAttentionForward);
  });
}

/// What nothing recomputes of the last block is wanted at once, so that sending it away gains nothing.
std::int64_t blocks_sent(const Strategy& strategy, std::int64_t layers) {
  if (strategy.activations == Tier::kDevice) return 0;
  return strategy.recompute_every > 0 ? layers : std::max<std::int64_t>(1, layers - 1);
}

}  // namespace

const OffloadSystem* find_system(std::string_view name) {
  const auto& all = offload_systems();
  const auto found = std::find_if(all.begin(), all.end(), [&](const OffloadSystem& system) { return system.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string> strategy_names() {
  std::vector<std::string> names = family_names();
  for (const OffloadSystem& system : offload_systems()) names.emplace_back(system.name);
  return names;
}

Result<Recipe> recipe_for(const OffloadSystem& system, const Recipe& recipe) {
  if (!system.refusal.empty()) {
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("strategy '{}' is not planned: {}", system.name, system.refusal),
                 .where = {},
                 .remedy = "docs/strategies.md says what can be"});
  }
  Recipe own = recipe;
  own.delay = std::max(recipe.delay, system.delay);
  return own;
}

Strategy strategy_for(const OffloadSystem& system, const ModelSpec& spec, const Recipe& recipe) {
  Strategy strategy = system.strategy;
  strategy.name = system.name;
  if (system.segments == Segments::kSquareRoot) strategy.recompute_every = checkpoint_segment(spec.blocks());
  if (system.kept == KeptOutputs::kProducts) strategy.kept_outputs = products_of_block(spec, recipe);
  strategy.recompute_every = std::min(strategy.recompute_every, spec.blocks());
  strategy.activation_blocks = blocks_sent(strategy, spec.blocks());
  return strategy;
}

}  // namespace plimsoll
