#include <fmt/format.h>

#include <algorithm>
#include <functional>

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
  places.reads_directly = places.ssd && platform.link(*places.ssd, places.device);
  places.writes_directly = places.ssd && platform.link(places.device, *places.ssd);
  const bool uses_ssd =
      std::max({strategy.optimizer, strategy.parameters, strategy.gradients, strategy.activations}) == Tier::kSsd;
  if (uses_ssd && (!places.ssd || !places.ssd_read || !places.ssd_write)) {
    return lacks(platform, "SSD", "name one with --ssd 500GB");
  }
  return places;
}

namespace {

/// Takes the bytes of something that lasts; `slots` versions of it.
using Reserve = std::function<BufferId(TensorKind, GroupId, SpaceId, Bytes, std::uint32_t slots)>;

/// Where the strategy wants what lasts of each group.
std::vector<GroupState> lay_out_state(const Strategy& strategy, const Recipe& recipe, const Places& places,
                                      const ParameterLayout& layout, const std::vector<GroupSizes>& sizes,
                                      const Reserve& reserve) {
  const auto space_of = [&](Tier where) {
    return where == Tier::kDevice ? places.device : where == Tier::kHost ? places.host : *places.ssd;
  };
  // What an update writes before the norm is known must not replace what it may have to start from again.
  const std::uint32_t versions = strategy.update_in_backward && awaits_norm(recipe) ? 2 : 1;
  std::vector<GroupState> groups(layout.groups.size());
  for (std::uint32_t i = 0; i < layout.groups.size(); ++i) {
    const GroupId group(i);
    GroupState& of = groups[i];
    const Tier weights = parameter_tier(strategy, recipe, layout.at(group));
    const Tier tier = state_tier(strategy, layout.at(group).block);
    // In fp32 the optimizer's weights are those that compute reads, unless the two live in different places; the device, where
    // it updates, finds them where it computes.
    const bool frozen = layout.at(group).frozen;
    const bool apart = tier != weights && !(weights == Tier::kDevice && updated_by_device(strategy, layout.at(group).block));
    const bool own_master = !frozen && (has_master_copy(recipe.precision) || apart);
    of.parameters = reserve(TensorKind::kParameter, group, space_of(weights), sizes[i].parameters,
                            own_master || frozen ? 1 : versions);
    if (frozen) continue;
    of.master =
        own_master ? reserve(TensorKind::kMaster, group, space_of(tier), sizes[i].master, versions) : of.parameters;
    for (const auto& [kind, bytes] : sizes[i].states)
      of.states.push_back(reserve(kind, group, space_of(tier), bytes, versions));
  }
  if (scales_loss(
          recipe.precision)) {  // where the norm is known; it is bound to the first group, for there is one a run
    reserve(TensorKind::kScalar, GroupId(0), strategy.optimizer == Tier::kDevice ? places.device : places.host,
            Bytes(kLossScaleDoubles * size_of(DType::kFp64)), 1);
  }
  return groups;
}

}  // namespace

std::vector<GroupSizes> state_sizes(const Recipe& recipe, const ParameterLayout& layout) {
  std::vector<GroupSizes> sizes;
  sizes.reserve(layout.groups.size());
  for (const ParameterGroup& group : layout.groups) {
    sizes.push_back({bytes_of_state(recipe, group, TensorKind::kParameter),
                     bytes_of_state(recipe, group, TensorKind::kMaster),
                     {}});
    for (const OptimizerState& state : optimizer_states(recipe, group))
      sizes.back().states.emplace_back(state.kind, state.bytes());
  }
  return sizes;
}

std::vector<GroupState> reserve_state(Plan& plan, BufferBook& book, const Places& places, const ParameterLayout& layout,
                                      const std::vector<GroupSizes>& sizes) {
  const auto reserve = [&](TensorKind kind, GroupId group, SpaceId space, Bytes bytes, std::uint32_t slots) {
    const bool scale = kind == TensorKind::kScalar;
    const BufferId buffer = book.add({.name = scale ? book.name("loss scale")
                                                    : book.name("{} of {} in {}", to_text(kind), layout.at(group).name,
                                                                plan.platform.at(space).name),
                                      .space = space,
                                      .bytes = bytes,
                                      .category = kind,
                                      .persistent = true,
                                      .slots = slots});
    plan.state.push_back({kind, group, buffer});
    return buffer;
  };
  return lay_out_state(plan.strategy, plan.recipe, places, layout, sizes, reserve);
}

std::vector<Bytes> lasting_bytes(const Strategy& strategy, const Recipe& recipe, const Places& places,
                                 std::size_t spaces, const ParameterLayout& layout,
                                 const std::vector<GroupSizes>& sizes) {
  std::vector<Bytes> taken(spaces);
  lay_out_state(strategy, recipe, places, layout, sizes,
                [&](TensorKind, GroupId, SpaceId space, Bytes bytes, std::uint32_t slots) {
                  taken[space.index] +=
                      Buffer{.name = {}, .space = space, .offset = {}, .bytes = bytes, .slots = slots}.extent();
                  return BufferId();
                });
  return taken;
}

}  // namespace plimsoll
