#include "executor/cpu/kept_state.h"

#include <algorithm>

namespace plimsoll {

bool is_weights(TensorKind kind) { return kind == TensorKind::kParameter || kind == TensorKind::kMaster; }

const StateBinding* find_state(const Plan& plan, TensorKind kind, GroupId group) {
  for (const StateBinding& binding : plan.state) {
    if (binding.kind == kind && binding.group == group) return &binding;
  }
  return nullptr;
}

const StateBinding* find_kept(const Plan& plan, TensorKind kind, GroupId group) {
  const StateBinding* master = is_weights(kind) ? find_state(plan, TensorKind::kMaster, group) : nullptr;
  return master != nullptr ? master : find_state(plan, is_weights(kind) ? TensorKind::kParameter : kind, group);
}

DType dtype_of(const Plan& plan, const StateBinding& binding) {
  const Precision precision = plan.recipe.precision;
  return binding.kind == TensorKind::kParameter ? compute_dtype(precision) : state_dtype(precision);
}

bool keeps_versions(const Plan& plan) {
  return std::any_of(plan.state.begin(), plan.state.end(),
                     [&](const StateBinding& binding) { return plan.at(binding.buffer).slots > 1; });
}

}  // namespace plimsoll
