#include <fmt/format.h>

#include <algorithm>

#include "core/graph/optimizer_state.h"
#include "sim/planner/check_shares.h"
#include "sim/planner/parameter_tier.h"
#include "sim/planner/step_lowering.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> lacks(const Platform& platform, std::string_view what, std::string remedy = {}) {
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("the machine '{}' has no {}", platform.name, what),
               .where = {},
               .remedy = std::move(remedy)});
}

}  // namespace

Result<Places> Places::find(const Platform& platform, const Strategy& strategy) {
  Places places;
  const auto device = platform.space(SpaceKind::kDevice);
  const auto host = platform.space(SpaceKind::kHost);
  if (!device || !host) return lacks(platform, "device and host memory");
  places.device = *device;
  places.host = *host;
  places.ssd = platform.space(SpaceKind::kSsd);
  const struct {
    std::string_view name;
    QueueId* queue;
  } needed[] = {{"compute", &places.compute}, {"h2d", &places.h2d},   {"d2h", &places.d2h},
                {"cpu", &places.cpu},         {"data", &places.data}, {"report", &places.report}};
  for (const auto& [name, queue] : needed) {
    const auto found = platform.queue(name);
    if (!found) return lacks(platform, fmt::format("queue '{}'", name));
    *queue = *found;
  }
  places.ssd_read = platform.queue("ssd.read");
  places.ssd_write = platform.queue("ssd.write");
  const bool uses_ssd =
      std::max({strategy.optimizer, strategy.parameters, strategy.gradients, strategy.activations}) == Tier::kSsd;
  if (uses_ssd && (!places.ssd || !places.ssd_read || !places.ssd_write)) {
    return lacks(platform, "SSD", "name one with --ssd 500GB");
  }
  return places;
}

namespace {

/// Where the norm is known; it is bound to the first group, for there is one a run.
void reserve_loss_scale(Plan& plan, BufferBook& book, const Places& places) {
  if (!scales_loss(plan.recipe.precision)) return;
  const SpaceId space = plan.strategy.optimizer == Tier::kDevice ? places.device : places.host;
  const BufferId buffer = book.add({.name = "loss scale",
                                    .space = space,
                                    .bytes = Bytes(kLossScaleDoubles * size_of(DType::kFp64)),
                                    .category = TensorKind::kScalar,
                                    .persistent = true});
  plan.state.push_back({TensorKind::kScalar, GroupId(0), buffer});
}

}  // namespace

std::vector<GroupState> reserve_state(Plan& plan, BufferBook& book, const Places& places, const ParameterLayout& layout) {
  const auto space_of = [&](Tier where) {
    return where == Tier::kDevice ? places.device : where == Tier::kHost ? places.host : *places.ssd;
  };
  // What an update writes before the norm is known must not replace what it may have to start from again.
  const std::uint32_t versions = plan.strategy.update_in_backward && awaits_norm(plan.recipe) ? 2 : 1;
  const auto reserve = [&](TensorKind kind, GroupId group, SpaceId space, bool updated) {
    const ParameterGroup& of = layout.at(group);
    const BufferId buffer = book.add({.name = fmt::format("{} of {} in {}", to_text(kind), of.name, plan.platform.at(space).name),
                                      .space = space,
                                      .bytes = bytes_of_state(plan.recipe, of, kind),
                                      .category = kind,
                                      .persistent = true,
                                      .slots = updated ? versions : 1});
    plan.state.push_back({kind, group, buffer});
    return buffer;
  };
  std::vector<GroupState> groups;
  for (std::uint32_t i = 0; i < layout.groups.size(); ++i) {
    const GroupId group(i);
    const Tier weights = parameter_tier(plan.strategy, plan.recipe, layout.at(group));
    GroupState of;
    if (layout.at(group).frozen) {
      of.parameters = reserve(TensorKind::kParameter, group, space_of(weights), false);
      groups.push_back(of);
      continue;
    }
    const Tier tier = state_tier(plan.strategy, layout.at(group).block);
    const SpaceId state_space = space_of(tier);
    // In fp32 the optimizer's weights are those that compute reads, unless the two live in different places.
    const bool own_master = has_master_copy(plan.recipe.precision) || tier != weights;
    of.parameters = reserve(TensorKind::kParameter, group, space_of(weights), !own_master);
    of.master = own_master ? reserve(TensorKind::kMaster, group, state_space, true) : of.parameters;
    for (const OptimizerState& kept : optimizer_states(plan.recipe, layout.at(group))) {
      of.states.push_back(reserve(kept.kind, group, state_space, true));
    }
    groups.push_back(of);
  }
  reserve_loss_scale(plan, book, places);
  return groups;
}

}  // namespace plimsoll
