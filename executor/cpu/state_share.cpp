#include "executor/cpu/state_share.h"

#include "core/graph/optimizer_state.h"
#include "core/plan/state_part.h"

namespace plimsoll {

std::size_t bytes_kept(const Plan& plan, const ParameterLayout& layout, const StateBinding& binding) {
  const ParameterGroup& group = layout.at(binding.group);
  const std::int64_t bytes = bytes_of_state(plan.recipe, group, binding.kind).count;
  if (binding.parts == 1) return static_cast<std::size_t>(bytes);
  std::int64_t own = 0;
  for (const ElementRun& run : runs_of_state(plan, binding)) own += run.count;
  return static_cast<std::size_t>(own * (bytes / group.elements));
}

std::vector<std::byte> part_in(std::span<const std::byte> whole, const Plan& plan, const ParameterLayout& layout,
                               const StateBinding& binding) {
  const std::size_t size = whole.size() / static_cast<std::size_t>(layout.at(binding.group).elements);
  std::vector<std::byte> part;
  for (const ElementRun& run : runs_of_state(plan, binding)) {
    const auto stretch = whole.subspan(static_cast<std::size_t>(run.whole) * size, static_cast<std::size_t>(run.count) * size);
    part.insert(part.end(), stretch.begin(), stretch.end());
  }
  return part;
}

bool keeps_less(const Plan& plan, const StateBinding& kept) {
  const bool reads_only = kept.kind == TensorKind::kParameter && has_master_copy(plan.recipe.precision);
  return plan.ranks > 1 && (kept.parts > 1 || reads_only);
}

std::vector<std::byte> whole_state(const Plan& plan, const ParameterLayout& layout, const StateBinding& kept,
                                   const std::function<void(std::span<std::byte>)>& fill) {
  const ParameterGroup& group = layout.at(kept.group);
  const bool weights = kept.kind == TensorKind::kParameter || kept.kind == TensorKind::kMaster;
  const std::int64_t bytes = weights ? group.elements * size_of(state_dtype(plan.recipe.precision))
                                     : bytes_of_state(plan.recipe, group, kept.kind).count;
  std::vector<std::byte> whole(static_cast<std::size_t>(bytes));
  fill(whole);
  return whole;
}

}  // namespace plimsoll
