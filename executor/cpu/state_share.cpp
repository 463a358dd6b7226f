#include "executor/cpu/state_share.h"

#include "core/graph/optimizer_state.h"
#include "core/plan/exchange.h"

namespace plimsoll {

std::size_t bytes_kept(const Plan& plan, const ParameterLayout& layout, const StateBinding& binding) {
  const ParameterGroup& group = layout.at(binding.group);
  const std::int64_t bytes = bytes_of_state(plan.recipe, group, binding.kind).count;
  if (binding.parts == 1) return static_cast<std::size_t>(bytes);
  return static_cast<std::size_t>(part_of(group.elements, binding.parts, binding.part).count * (bytes / group.elements));
}

std::span<const std::byte> part_in(std::span<const std::byte> whole, const ParameterLayout& layout, const StateBinding& binding) {
  const std::int64_t elements = layout.at(binding.group).elements;
  const std::size_t size = whole.size() / static_cast<std::size_t>(elements);
  const ElementPart part = part_of(elements, binding.parts, binding.part);
  return whole.subspan(static_cast<std::size_t>(part.first) * size, static_cast<std::size_t>(part.count) * size);
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
