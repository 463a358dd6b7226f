#include "sim/planner/systems/compare_systems.h"

#include <algorithm>
#include <optional>

#include "sim/planner/fit_answer.h"
#include "sim/planner/parallel_for.h"
#include "sim/planner/systems/offload_system.h"

namespace plimsoll {
namespace {

Result<FitAnswer> answer_for(const OffloadSystem& system, const SearchProblem& asked) {
  const auto recipe = recipe_for(system, asked.recipe);
  if (!recipe) return fail(recipe.error());
  if (const auto valid = validate(*recipe, asked.spec); !valid) return fail(valid.error());
  const SearchProblem problem{asked.spec, *recipe, asked.platform, asked.costs, asked.evaluation, asked.odds};
  const auto search = search_plan(problem.spec, problem.recipe, problem.platform, problem.costs,
                                  {.strategy = std::string(system.name), .threads = 1, .odds = problem.odds});
  if (!search) return fail(search.error());
  return fit_answer(*search, problem);
}

/// The systems' plans that train the asked recipe are known already, so that a shorter search does.
constexpr std::size_t kRemainingBudget = kInstructionBudget / 4;

Result<FitAnswer> own_answer(const SearchProblem& problem, std::vector<Strategy> seeds, unsigned threads) {
  const auto search = search_plan(problem.spec, problem.recipe, problem.platform, problem.costs,
                                  {.seeds = std::move(seeds), .instruction_budget = kRemainingBudget, .systems = false,
                                   .threads = threads, .odds = problem.odds});
  if (!search) return fail(search.error());
  return fit_answer(*search, problem);
}

}  // namespace

Result<SystemComparison> compare_systems(const SearchProblem& problem, unsigned threads) {
  const auto& systems = offload_systems();
  std::vector<std::optional<Result<FitAnswer>>> answers(systems.size());
  parallel_for(systems.size(), [&](std::size_t i) { answers[i] = answer_for(systems[i], problem); }, threads);
  std::vector<Strategy> seeds;
  for (std::size_t i = 0; i < systems.size(); ++i) {
    if (*answers[i] && systems[i].delay == 0) seeds.push_back((*answers[i])->strategy);
  }
  auto own = own_answer(problem, std::move(seeds), threads);
  if (!own) return fail(own.error());
  SystemComparison comparison{.own = std::move(*own), .published = {}, .left_out = {}};
  for (std::size_t i = 0; i < systems.size(); ++i) {
    Result<FitAnswer>& answer = *answers[i];
    if (answer) comparison.published.push_back(std::move(*answer));
    else if (answer.error().kind != ErrorKind::kInput) return fail(answer.error());
    else comparison.left_out.push_back({std::string(systems[i].name), answer.error().what});
  }
  std::stable_sort(comparison.published.begin(), comparison.published.end(), [](const FitAnswer& a, const FitAnswer& b) {
    return std::pair(!a.fits, a.step_seconds) < std::pair(!b.fits, b.step_seconds);
  });
  return comparison;
}

}  // namespace plimsoll
