#include "sim/planner/smaller_batch.h"

#include <fmt/format.h>

namespace plimsoll {

std::optional<Recipe> halved_batch(Recipe recipe) {
  if (recipe.micro_batch <= 1 || recipe.micro_batch % 2 != 0) return std::nullopt;
  recipe.micro_batch /= 2;
  recipe.accumulate *= 2;
  return recipe;
}

std::string batch_options(const Recipe& recipe) {
  return fmt::format("--batch {} --accumulate {}", recipe.micro_batch, recipe.accumulate);
}

Result<std::optional<ChangeAnswer>> smaller_batch(const SearchProblem& problem) {
  for (auto recipe = halved_batch(problem.recipe); recipe; recipe = halved_batch(*recipe)) {
    if (!validate(*recipe, problem.spec)) return std::nullopt;
    const auto search = search_plan(problem.spec, *recipe, problem.platform, problem.costs, {.refine = false});
    if (!search) return fail(search.error());
    if (!search->plan) continue;
    return ChangeAnswer{.what = batch_options(*recipe),
                        .strategy = search->plan->strategy.name,
                        .step_seconds = to_seconds(search->prediction->step),
                        .more = {}};
  }
  return std::nullopt;
}

}  // namespace plimsoll
