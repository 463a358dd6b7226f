// The part of RankLowering that reserves what lasts.
#include <fmt/format.h>

#include "core/graph/optimizer_state.h"
#include "core/model/expert_slice.h"
#include "sim/planner/ranks/rank_lowering.h"

namespace plimsoll {

bool RankLowering::is_sharded(GroupId group) const {
  return job_.zero >= 1 && part_of_replica(group).count > 1 && !graph_.parameters.at(group).frozen;
}

bool RankLowering::is_shared_mixture(GroupId group) const {
  return job_.experts > 1 && !own_runs_of_experts(graph_.parameters.at(group)).empty();
}

TensorShare RankLowering::part_of_replica(GroupId group) const {
  const std::uint32_t sharers = is_shared_mixture(group) ? job_.experts : 1;
  return {replica_ / sharers, job_.replicas / sharers};
}

BufferId RankLowering::reserve(TensorKind kind, GroupId group, bool sharded) {
  const ParameterGroup& of = graph_.parameters.at(group);
  Bytes bytes = bytes_of_state(plan_.recipe, of, kind);
  if (sharded) {
    const std::int64_t size = bytes.count / of.elements;
    bytes = Bytes(longest_part(of.elements, part_of_replica(group).count) * size);
  }
  const bool sliced = job_.tensor > 1 && !own_runs_of_slice(of).empty();
  const bool mixture = is_shared_mixture(group);
  const char* of_experts = sharded ? ", part of own experts" : ", own experts";
  const char* note = mixture ? of_experts : sharded ? ", own part" : sliced ? ", own slice" : "";
  const BufferId buffer = book_.add({.name = fmt::format("{} of {}{}", to_text(kind), of.name, note),
                                     .space = places_.device,
                                     .bytes = bytes,
                                     .category = kind,
                                     .persistent = true});
  StateBinding binding{.kind = kind, .group = group, .buffer = buffer};
  if (sharded) {
    binding.part = part_of_replica(group).index;
    binding.parts = part_of_replica(group).count;
  }
  if (sliced) {
    binding.part = binding.part * job_.tensor + slice_;
    binding.parts *= job_.tensor;
  }
  if (mixture) {
    binding.part = binding.part * job_.experts + replica_ % job_.experts;
    binding.parts *= job_.experts;
  }
  plan_.state.push_back(binding);
  return buffer;
}

void RankLowering::reserve_group(GroupId group) {
  OwnedGroup& of = groups_[group];
  of.parameters = reserve(TensorKind::kParameter, group, divides_weights(group));
  if (!owns(group)) return;
  const bool sharded = is_sharded(group);
  const bool mixed = has_master_copy(plan_.recipe.precision);
  of.old.push_back(mixed ? reserve(TensorKind::kMaster, group, sharded) : of.parameters);
  for (const OptimizerState& kept : optimizer_states(plan_.recipe, graph_.parameters.at(group))) {
    of.old.push_back(reserve(kept.kind, group, sharded));
  }
}

void RankLowering::reserve_states() {
  std::set<GroupId> wanted;
  for (std::uint32_t stage = 0; stage < cut_.stages.size(); ++stage) {
    if (place_of(stage) == place_) wanted.insert(cut_.reads[stage].begin(), cut_.reads[stage].end());
  }
  for (std::size_t i = 0; i < graph_.parameters.groups.size(); ++i) {
    if (owns(GroupId(i))) wanted.insert(GroupId(i));
  }
  for (const GroupId group : wanted) reserve_group(group);
  share_parameters();
}

void RankLowering::share_parameters() {
  for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
    const Tensor& tensor = graph_.tensors[i];
    const bool weights = tensor.kind == TensorKind::kParameter && tensor.group.valid() && !tensor.view_of.valid();
    if (!weights || !groups_.contains(tensor.group)) continue;
    if (!divides_weights(tensor.group)) shared_[i] = groups_.at(tensor.group).parameters;
  }
}

}  // namespace plimsoll
