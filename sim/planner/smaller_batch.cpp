#include "sim/planner/smaller_batch.h"

#include <fmt/format.h>

namespace plimsoll {

Result<std::optional<ChangeAnswer>> smaller_batch(const SearchProblem& problem) {
  Recipe recipe = problem.recipe;
  while (recipe.micro_batch > 1 && recipe.micro_batch % 2 == 0) {
    recipe.micro_batch /= 2;
    recipe.accumulate *= 2;
    if (!validate(recipe, problem.spec)) return std::nullopt;
    const auto search = search_plan(problem.spec, recipe, problem.platform, problem.costs, {.refine = false});
    if (!search) return fail(search.error());
    if (!search->plan) continue;
    return ChangeAnswer{.what = fmt::format("--batch {} --accumulate {}", recipe.micro_batch, recipe.accumulate),
                        .strategy = search->plan->strategy.name,
                        .step_seconds = to_seconds(search->prediction->step),
                        .more = {}};
  }
  return std::nullopt;
}

}  // namespace plimsoll
