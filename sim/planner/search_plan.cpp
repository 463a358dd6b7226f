#include "sim/planner/search_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/nearest_names.h"
#include "core/graph/buildable.h"
#include "sim/planner/refine_candidates.h"
#include "sim/planner/systems/choose_open.h"

namespace plimsoll {
namespace {

/// How many strategies a refinement's instructions may at most and at least be.
constexpr std::size_t kMostEvaluations = 400;
constexpr std::size_t kLeastEvaluations = 12;

Result<void> check_name(const std::string& wanted) {
  std::vector<std::string> names = strategy_names();
  names.insert(names.begin(), "auto");
  if (std::find(names.begin(), names.end(), wanted) != names.end()) return {};
  return fail({.kind = ErrorKind::kUnknownName,
               .what = fmt::format("unknown strategy '{}'", wanted),
               .where = {},
               .remedy = did_you_mean(wanted, names)});
}

/// What is tried first. A family that was asked for by name is tried even where it cannot work, so that it is said why.
std::vector<Strategy> starting_points(const SearchProblem& problem, const SearchOptions& options) {
  if (options.exact) return {*options.exact};
  const Precision precision = problem.recipe.precision;
  const bool frozen = problem.recipe.adapter.exists();
  if (options.strategy == "auto") {
    std::vector<Strategy> all = candidate_strategies(problem.spec.layers, problem.platform, precision, frozen);
    for (Strategy seed : options.seeds) {
      seed.name = family_of(seed);
      all.push_back(std::move(seed));
    }
    return all;
  }
  std::vector<Strategy> family = all_candidate_strategies(problem.spec.layers, precision, frozen);
  std::erase_if(family, [&](const Strategy& s) { return s.name != options.strategy; });
  return family;
}

std::size_t evaluations_for(const std::vector<Candidate>& candidates, std::size_t budget, std::size_t longest) {
  for (const Candidate& candidate : candidates) longest = std::max(longest, candidate.instructions);
  return std::clamp(budget / longest, kLeastEvaluations, kMostEvaluations);
}

/// A published system is planned as it is, but for what it leaves open.
Result<std::vector<Candidate>> try_system(const SearchProblem& problem, const OffloadSystem& system, const Look& look) {
  if (const auto recipe = recipe_for(system, problem.recipe); !recipe) return fail(recipe.error());
  if (system.delay > problem.recipe.delay) {
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("strategy '{}' is for a recipe that delays updates", system.name)});
  }
  auto chosen = choose_open(problem, strategy_for(system, problem.spec, problem.recipe), system.open, look);
  if (!chosen) return fail(chosen.error());
  return std::vector<Candidate>{std::move(*chosen)};
}

Result<std::vector<Candidate>> try_strategies(const SearchProblem& problem, const SearchOptions& options) {
  if (const OffloadSystem* system = options.exact ? nullptr : find_system(options.strategy)) {
    return try_system(problem, *system, {.memory = options.memory});
  }
  std::vector<Candidate> candidates;
  const Look look{.memory = options.memory};
  if (const auto tried = try_all(problem, starting_points(problem, options), look, options.threads, candidates); !tried) {
    return fail(tried.error());
  }
  const auto fits = [](const Candidate& candidate) { return candidate.fits(); };
  const bool found = options.memory && std::any_of(candidates.begin(), candidates.end(), fits);
  if (options.refine && !options.exact && !found) {
    const std::size_t at_least = options.memory && problem.graph ? problem.graph->ops.size() : 1;
    const RefineOptions refine{.family = options.strategy == "auto" ? "" : options.strategy,
                               .evaluations = evaluations_for(candidates, options.instruction_budget, at_least),
                               .threads = options.threads,
                               .memory = options.memory};
    if (const auto refined = refine_candidates(problem, refine, candidates); !refined) return fail(refined.error());
  }
  std::stable_sort(candidates.begin(), candidates.end(), better);
  return candidates;
}

}  // namespace

Result<SearchResult> search_plan(const ModelSpec& spec, const Recipe& recipe, const Platform& platform, const CostModel& costs,
                                 const SearchOptions& options) {
  if (!options.exact) {
    if (const auto known = check_name(options.strategy); !known) return fail(known.error());
  }
  if (const auto buildable = check_buildable(spec, recipe); !buildable) return fail(buildable.error());
  SearchProblem problem{spec, recipe, platform, costs, options.evaluation, options.odds, graph_on(spec, recipe, platform)};
  if (options.memory && problem.graph) problem.shorter = std::make_shared<ShorterModels>(*problem.graph, platform);
  auto candidates = try_strategies(problem, options);
  if (!candidates) return fail(candidates.error());
  SearchResult result{.candidates = std::move(*candidates)};
  if (options.memory || result.candidates.empty() || !result.candidates.front().fits()) return result;
  auto plan = lower_to_plan(spec, recipe, platform, result.candidates.front().strategy,
                            {.evaluation = options.evaluation, .graph = problem.graph.get()});
  if (!plan) return fail(plan.error());
  auto prediction = predict(*plan, costs, options.odds);
  if (!prediction) return fail(prediction.error());
  result.plan = std::move(*plan);
  result.prediction = std::move(*prediction);
  return result;
}

}  // namespace plimsoll
