#include "core/plan/state_part.h"

#include <algorithm>

#include "core/model/expert_slice.h"

namespace plimsoll {
namespace {

/// The rank's place among the members of the first exchange that is `wanted`.
template <typename Wanted>
TensorShare share_in(const Plan& plan, const Wanted& wanted) {
  for (const Exchange& exchange : plan.exchanges) {
    if (is_message(exchange.kind) || !wanted(exchange)) continue;
    const auto own = std::find(exchange.ranks.begin(), exchange.ranks.end(), plan.rank);
    if (own == exchange.ranks.end()) continue;
    return {static_cast<std::uint32_t>(own - exchange.ranks.begin()), static_cast<std::uint32_t>(exchange.ranks.size())};
  }
  return {};
}

std::int64_t elements_of(const ModelSpec& spec, const Recipe& recipe, GroupId group) {
  return lay_out_parameters(spec, recipe.adapter).at(group).elements;
}

/// What replicas divide of what one rank of those that share layers has: all of a group that is not cut.
struct Divided {
  std::vector<ElementRun> runs;
  std::int64_t elements = 0;
  std::uint32_t part = 0;
  std::uint32_t parts = 1;
};

Divided divided(const Plan& plan, const StateBinding& binding) {
  const TensorShare share = share_of_group(plan, binding.group);
  const std::uint32_t slices = share.count;
  if (slices == 1) {
    const std::int64_t elements = elements_of(plan.spec, plan.recipe, binding.group);
    return {{{0, 0, elements}}, elements, binding.part, binding.parts};
  }
  const TensorShare own{binding.part % slices, slices};
  const bool experts = expert_share(plan).count > 1;
  const ModelSpec part = experts ? experts_of_rank(plan.spec, own) : slice_of_model(plan.spec, slices);
  return {experts ? runs_of_experts(plan.spec, binding.group, own) : runs_of_slice(plan.spec, binding.group, own),
          elements_of(part, plan.recipe, binding.group), binding.part / slices, binding.parts / slices};
}

}  // namespace

TensorShare tensor_share(const Plan& plan) {
  return share_in(plan, [](const Exchange& exchange) { return exchange.channel == kSlicesChannel; });
}

TensorShare expert_share(const Plan& plan) {
  return share_in(plan, [](const Exchange& exchange) { return is_all_to_all(exchange.kind); });
}

TensorShare share_of_group(const Plan& plan, GroupId group) {
  const ParameterGroup of = lay_out_parameters(plan.spec, plan.recipe.adapter).at(group);
  const TensorShare experts = expert_share(plan);
  if (experts.count > 1) return own_runs_of_experts(of).empty() ? TensorShare() : experts;
  const TensorShare layers = tensor_share(plan);
  return layers.count > 1 && !own_runs_of_slice(of).empty() ? layers : TensorShare();
}

std::vector<ElementRun> runs_of_state(const Plan& plan, const StateBinding& binding) {
  const Divided of = divided(plan, binding);
  return runs_between(of.runs, part_of(of.elements, of.parts, of.part));
}

std::int64_t room_of_state(const Plan& plan, const StateBinding& binding) {
  const Divided of = divided(plan, binding);
  return longest_part(of.elements, of.parts);
}

std::vector<ElementRun> runs_between(const std::vector<ElementRun>& runs, const ElementPart& stretch) {
  std::vector<ElementRun> found;
  for (const ElementRun& run : runs) {
    const std::int64_t begin = std::max(run.own, stretch.first);
    const std::int64_t end = std::min(run.own + run.count, stretch.first + stretch.count);
    if (begin < end) found.push_back({run.whole + begin - run.own, begin - stretch.first, end - begin});
  }
  return found;
}

}  // namespace plimsoll
