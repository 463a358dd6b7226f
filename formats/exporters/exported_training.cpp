#include "formats/exporters/exported_training.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/model/parameters.h"

namespace plimsoll {
namespace {

/// Share of the model's parameters that lie in its blocks from `first` to `last`, in elements.
double share_of_blocks(const ParameterLayout& layout, std::int64_t first, std::int64_t last) {
  std::int64_t some = 0;
  for (const ParameterGroup& group : layout.groups) {
    if (group.block >= first && group.block < last) some += group.elements;
  }
  return static_cast<double>(some) / static_cast<double>(std::max<std::int64_t>(1, layout.elements()));
}

ExportedCheckpoints checkpoints_of(const Strategy& strategy) {
  if (strategy.recompute_every == 0) return ExportedCheckpoints::kNone;
  return strategy.kept_outputs > 0 ? ExportedCheckpoints::kOperators : ExportedCheckpoints::kBlocks;
}

void take_shares(const Plan& plan, ExportedTraining& training) {
  const Strategy& s = plan.strategy;
  const ParameterLayout layout = lay_out_parameters(plan.spec, plan.recipe.adapter);
  if (s.parameters != Tier::kDevice)
    training.parameters_away = 1 - share_of_blocks(layout, 0, s.device_parameter_blocks);
  if (s.optimizer != Tier::kDevice) training.updates_away = 1 - share_of_blocks(layout, 0, s.device_state_blocks);
  training.updates_visit =
      share_of_blocks(layout, s.device_state_blocks, s.device_state_blocks + s.device_update_blocks);
  if (s.optimizer == Tier::kSsd) {
    training.states_in_host =
        share_of_blocks(layout, s.device_state_blocks, s.device_state_blocks + s.host_state_blocks);
  }
  if (s.activations != Tier::kDevice) {
    training.activations_away =
        static_cast<double>(s.activation_blocks) / static_cast<double>(std::max<std::int64_t>(1, plan.spec.layers));
  }
}

}  // namespace

Result<ExportedTraining> exported_training(const Plan& plan) {
  if (plan.spec.layers == 0) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "the plan names no model, whose options other programs ask for",
                 .where = {},
                 .remedy = "make one with plimsoll plan MODEL"});
  }
  const Strategy& s = plan.strategy;
  ExportedTraining training{.spec = plan.spec, .recipe = plan.recipe};
  training.origin = fmt::format("plan '{}' of plimsoll: {}", s.name, describe(s));
  training.parameters = s.parameters;
  training.gradients = s.gradients;
  training.optimizer = s.optimizer;
  training.activations = s.activations;
  training.checkpoints = checkpoints_of(s);
  training.every = std::max<std::int64_t>(1, s.recompute_every);
  training.blocks = planned_operators(plan);
  training.update_in_backward = s.update_in_backward;
  training.breadth_first = s.loop_order == LoopOrder::kBreadthFirst;
  training.overlaps = s.overlap;
  training.staging_slots = s.staging_slots;
  take_shares(plan, training);
  return training;
}

}  // namespace plimsoll
