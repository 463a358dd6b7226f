#include "executor/collectives/state_owners.h"

#include <algorithm>

#include "core/graph/optimizer_state.h"

namespace plimsoll {

std::int64_t OwnedPart::elements() const {
  std::int64_t sum = 0;
  for (const ElementRun& run : runs) sum += run.count;
  return sum;
}

std::int64_t StateOwners::elements(GroupId group) const {
  return lay_out_parameters(plans_[0].spec, plans_[0].recipe.adapter).at(group).elements;
}

TensorKind StateOwners::kept_kind(TensorKind kind) const {
  const bool weights = kind == TensorKind::kParameter || kind == TensorKind::kMaster;
  if (!weights) return kind;
  return has_master_copy(plans_[0].recipe.precision) ? TensorKind::kMaster : TensorKind::kParameter;
}

const StateBinding* StateOwners::find(const Plan& plan, TensorKind kind, GroupId group) const {
  for (const StateBinding& binding : plan.state) {
    if (binding.kind == kind && binding.group == group) return &binding;
  }
  return nullptr;
}

bool StateOwners::updates(const Plan& plan, GroupId group) const {
  return std::any_of(plan.state.begin(), plan.state.end(), [&](const StateBinding& binding) {
    return binding.group == group && binding.kind != TensorKind::kParameter;
  });
}

std::vector<OwnedPart> StateOwners::parts(TensorKind kind, GroupId group) const {
  const TensorKind kept = kept_kind(kind);
  const bool known = std::any_of(plans_.begin(), plans_.end(), [&](const Plan& plan) { return updates(plan, group); });
  std::vector<OwnedPart> found;
  for (const Plan& plan : plans_) {  // where an optimizer keeps nothing, the first stage that has a group updates it
    const StateBinding* binding = !known || updates(plan, group) ? find(plan, kept, group) : nullptr;
    if (binding == nullptr || binding->part != found.size() || found.size() == binding->parts) continue;
    found.push_back({plan.rank, runs_of_state(plan, *binding)});
  }
  return found;
}

std::vector<std::uint32_t> StateOwners::holders(TensorKind kind, GroupId group) const {
  const bool weights = kind == TensorKind::kParameter || kind == TensorKind::kMaster;
  std::vector<std::uint32_t> ranks;
  for (const Plan& plan : plans_) {
    if (find(plan, weights ? TensorKind::kParameter : kind, group) != nullptr) ranks.push_back(plan.rank);
  }
  return ranks;
}

Bytes StateOwners::size(TensorKind kind, GroupId group) const {
  const ParameterLayout layout = lay_out_parameters(plans_[0].spec, plans_[0].recipe.adapter);
  return bytes_of_state(plans_[0].recipe, layout.at(group), kept_kind(kind));
}

}  // namespace plimsoll
