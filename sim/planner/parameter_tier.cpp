#include "sim/planner/parameter_tier.h"

#include <fmt/format.h>

#include "sim/planner/check_shares.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> refuse(std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = std::move(remedy)});
}

/// fp32 weights are the optimizer's own: they cannot lie in host memory while its states are on the SSD.
bool splits_only_copy(const Strategy& strategy, const Recipe& recipe) {
  return strategy.parameters == Tier::kHost && strategy.optimizer == Tier::kSsd && !has_master_copy(recipe.precision);
}

}  // namespace

Tier parameter_tier(const Strategy& strategy, const Recipe& recipe, const ParameterGroup& group) {
  const bool stays = group.block >= 0 && group.block < strategy.device_parameter_blocks;
  if (stays) return Tier::kDevice;
  if (group.frozen) return strategy.parameters;
  if (state_tier(strategy, group.block) == Tier::kDevice) return Tier::kDevice;
  return splits_only_copy(strategy, recipe) ? state_tier(strategy, group.block) : strategy.parameters;
}

Result<void> check_tiers(const Strategy& strategy, const Recipe& recipe) {
  const bool splits = strategy.device_state_blocks > 0 || strategy.device_update_blocks > 0;
  if (recipe.delay > 0 && (strategy.update_in_backward || splits)) {
    return refuse(fmt::format("strategy '{}' {} while the recipe delays updates by a step", strategy.name,
                              strategy.update_in_backward ? "updates during backward" : "lets the device update blocks of its own"),
                  "say update_in_backward: false, device_state_blocks: 0 and device_update_blocks: 0");
  }
  const bool trains_all = !recipe.adapter.exists();
  if (trains_all && strategy.parameters != Tier::kDevice && strategy.optimizer == Tier::kDevice) {
    return refuse(fmt::format("strategy '{}' streams weights that the device itself would update", strategy.name),
                  "put the optimizer on the host or the SSD too");
  }
  if (strategy.gradients != Tier::kDevice && strategy.optimizer == Tier::kDevice) {
    return refuse(fmt::format("strategy '{}' sends gradients away that the device itself would read", strategy.name),
                  "put the optimizer on the host or the SSD too, or keep the gradients on the device");
  }
  if (trains_all && splits_only_copy(strategy, recipe)) {
    return refuse("in fp32 the optimizer's weights on the SSD are the only copy",
                  "stream the weights from the SSD too, or use mixed precision");
  }
  return {};
}

}  // namespace plimsoll
