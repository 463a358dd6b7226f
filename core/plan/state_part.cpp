#include "core/plan/state_part.h"

#include <algorithm>

namespace plimsoll {
namespace {

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
  const std::uint32_t slices = slices_of_group(plan, binding.group);
  if (slices == 1) {
    const std::int64_t elements = elements_of(plan.spec, plan.recipe, binding.group);
    return {{{0, 0, elements}}, elements, binding.part, binding.parts};
  }
  return {runs_of_slice(plan.spec, binding.group, {binding.part % slices, slices}),
          elements_of(slice_of_model(plan.spec, slices), plan.recipe, binding.group), binding.part / slices,
          binding.parts / slices};
}

}  // namespace

TensorShare tensor_share(const Plan& plan) {
  for (const Exchange& exchange : plan.exchanges) {
    if (exchange.channel != kSlicesChannel || is_message(exchange.kind)) continue;
    const auto own = std::find(exchange.ranks.begin(), exchange.ranks.end(), plan.rank);
    if (own == exchange.ranks.end()) continue;
    return {static_cast<std::uint32_t>(own - exchange.ranks.begin()), static_cast<std::uint32_t>(exchange.ranks.size())};
  }
  return {};
}

std::uint32_t slices_of_group(const Plan& plan, GroupId group) {
  const std::uint32_t slices = tensor_share(plan).count;
  const bool cut = slices > 1 && !own_runs_of_slice(lay_out_parameters(plan.spec, plan.recipe.adapter).at(group)).empty();
  return cut ? slices : 1;
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
