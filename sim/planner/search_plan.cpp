#include "sim/planner/search_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/nearest_names.h"
#include "core/graph/buildable.h"
#include "sim/planner/refine_candidates.h"

namespace plimsoll {
namespace {

/// Instructions that a refinement may lower and simulate in all, and how many strategies that may at most and at least be.
constexpr std::size_t kInstructionBudget = 1'500'000;
constexpr std::size_t kMostEvaluations = 400;
constexpr std::size_t kLeastEvaluations = 12;

Result<void> check_name(const std::string& wanted) {
  std::vector<std::string> names = family_names();
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
  if (options.strategy == "auto") return candidate_strategies(problem.spec.layers, problem.platform, precision, frozen);
  std::vector<Strategy> family = all_candidate_strategies(problem.spec.layers, precision, frozen);
  std::erase_if(family, [&](const Strategy& s) { return s.name != options.strategy; });
  return family;
}

std::size_t evaluations_for(const std::vector<Candidate>& candidates) {
  std::size_t longest = 1;
  for (const Candidate& candidate : candidates) longest = std::max(longest, candidate.instructions);
  return std::clamp(kInstructionBudget / longest, kLeastEvaluations, kMostEvaluations);
}

Result<std::vector<Candidate>> try_strategies(const SearchProblem& problem, const SearchOptions& options) {
  std::vector<Candidate> candidates;
  if (const auto tried = try_all(problem, starting_points(problem, options), false, options.threads, candidates); !tried) {
    return fail(tried.error());
  }
  if (options.refine && !options.exact) {
    const RefineOptions refine{.family = options.strategy == "auto" ? "" : options.strategy,
                               .evaluations = evaluations_for(candidates),
                               .threads = options.threads};
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
  const SearchProblem problem{spec, recipe, platform, costs, options.evaluation, options.odds};
  auto candidates = try_strategies(problem, options);
  if (!candidates) return fail(candidates.error());
  SearchResult result{.candidates = std::move(*candidates)};
  if (result.candidates.empty() || !result.candidates.front().fits()) return result;
  auto plan = lower_to_plan(spec, recipe, platform, result.candidates.front().strategy, {.evaluation = options.evaluation});
  if (!plan) return fail(plan.error());
  auto prediction = predict(*plan, costs, options.odds);
  if (!prediction) return fail(prediction.error());
  result.plan = std::move(*plan);
  result.prediction = std::move(*prediction);
  return result;
}

}  // namespace plimsoll
