// The part of RankLowering that reserves what lasts.
#include <fmt/format.h>

#include "core/graph/optimizer_state.h"
#include "core/model/expert_slice.h"
#include "sim/planner/ranks/rank_lowering.h"

namespace plimsoll {

/// A block whose experts replicas share is already another one on each of them: they keep what they have of it whole.
bool RankLowering::is_sharded(GroupId group) const {
  const ParameterGroup& of = graph_.parameters.at(group);
  const bool mixture = job_.experts > 1 && !own_runs_of_experts(of).empty();
  return job_.zero >= 1 && job_.replicas > 1 && !of.frozen && !mixture;
}

BufferId RankLowering::reserve(TensorKind kind, GroupId group, bool sharded) {
  const ParameterGroup& of = graph_.parameters.at(group);
  Bytes bytes = bytes_of_state(plan_.recipe, of, kind);
  if (sharded) {
    const std::int64_t size = bytes.count / of.elements;
    bytes = Bytes(longest_part(of.elements, job_.replicas) * size);
  }
  const bool sliced = job_.tensor > 1 && !own_runs_of_slice(of).empty();
  const bool mixture = job_.experts > 1 && !own_runs_of_experts(of).empty();
  const char* note = sharded ? ", own part" : sliced ? ", own slice" : mixture ? ", own experts" : "";
  const BufferId buffer = book_.add({.name = fmt::format("{} of {}{}", to_text(kind), of.name, note),
                                     .space = places_.device,
                                     .bytes = bytes,
                                     .category = kind,
                                     .persistent = true});
  StateBinding binding{.kind = kind, .group = group, .buffer = buffer};
  if (sharded) {
    binding.part = replica_;
    binding.parts = job_.replicas;
  }
  if (sliced) {
    binding.part = binding.part * job_.tensor + slice_;
    binding.parts *= job_.tensor;
  }
  if (mixture) {
    binding.part = replica_ % job_.experts;
    binding.parts = job_.experts;
  }
  plan_.state.push_back(binding);
  return buffer;
}

void RankLowering::reserve_group(GroupId group) {
  OwnedGroup& of = groups_[group];
  of.parameters = reserve(TensorKind::kParameter, group, divides_weights() && is_sharded(group));
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
    if (!divides_weights() || !is_sharded(tensor.group)) shared_[i] = groups_.at(tensor.group).parameters;
  }
}

}  // namespace plimsoll
