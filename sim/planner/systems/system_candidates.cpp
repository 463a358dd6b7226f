#include "sim/planner/systems/system_candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/planner/parallel_for.h"
#include "sim/planner/strategy_families.h"
#include "sim/planner/systems/choose_open.h"

namespace plimsoll {
namespace {

/// Such a choice compares steps, and a bound is none.
bool chooses_fastest(const OffloadSystem& system) {
  return std::any_of(system.open.begin(), system.open.end(),
                     [](const OpenChoice& one) { return one.rule == OpenChoice::Rule::kFastest; });
}

}  // namespace

Result<Candidate> try_system(const SearchProblem& problem, const OffloadSystem& system, const Look& look) {
  if (const auto recipe = recipe_for(system, problem.recipe); !recipe) return fail(recipe.error());
  if (system.delay > problem.recipe.delay) {
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("strategy '{}' is for a recipe that delays updates", system.name)});
  }
  return choose_open(problem, strategy_for(system, problem.spec, problem.recipe), system.open, look);
}

Result<std::vector<Candidate>> system_candidates(const SearchProblem& problem, const Look& look, unsigned threads) {
  const auto& systems = offload_systems();
  std::vector<std::optional<Result<Candidate>>> tried(systems.size());
  const auto try_one = [&](std::size_t i) {
    Look own = look;
    if (chooses_fastest(systems[i])) own.below = std::nullopt;
    tried[i] = try_system(problem, systems[i], own);
  };
  parallel_for(systems.size(), try_one, threads);
  std::vector<Candidate> candidates;
  for (std::optional<Result<Candidate>>& one : tried) {
    if (!*one && one->error().kind != ErrorKind::kInput) return fail(one->error());
    if (!*one) continue;
    candidates.push_back(std::move(**one));
    candidates.back().strategy.name = family_of(candidates.back().strategy);
  }
  return candidates;
}

}  // namespace plimsoll
