#include "sim/planner/rejected_families.h"

#include <optional>
#include <set>

#include "sim/planner/parallel_for.h"

namespace plimsoll {
namespace {

/// With addresses found as the search found them.
Result<RejectedFamily> look_again(const SearchProblem& problem, const Candidate& candidate) {
  FlatBody step;
  const auto plan = lower_to_plan(problem.spec, problem.recipe, problem.platform, candidate.strategy,
                                  {.evaluation = problem.evaluation,
                                   .flat_step = &step,
                                   .quick_addresses = !candidate.fits(),
                                   .nameless = true,
                                   .packings = problem.packings.get()});
  if (!plan) return fail(plan.error());
  const auto limit = step_limit(*plan, step, problem.costs, problem.odds);
  if (!limit) return fail(limit.error());
  return RejectedFamily{candidate.strategy, space_needs(*plan), limit->step, limit->busiest};
}

/// The first of each family but the first candidate's; one that was only glanced at stands behind those that were not.
std::vector<const Candidate*> best_of_families(const std::vector<Candidate>& candidates) {
  std::vector<const Candidate*> best;
  std::set<std::string> seen;
  for (const Candidate& candidate : candidates) {
    if (candidate.glanced || !seen.insert(candidate.strategy.name).second) continue;
    best.push_back(&candidate);
  }
  if (!best.empty()) best.erase(best.begin());
  return best;
}

}  // namespace

Result<std::vector<RejectedFamily>> rejected_families(const SearchProblem& problem, const SearchResult& search) {
  const std::vector<const Candidate*> best = best_of_families(search.candidates);
  std::vector<std::optional<Result<RejectedFamily>>> looked(best.size());
  parallel_for(best.size(), [&](std::size_t i) { looked[i] = look_again(problem, *best[i]); });
  std::vector<RejectedFamily> families;
  for (std::optional<Result<RejectedFamily>>& one : looked) {
    if (!one->has_value()) return fail(one->error());
    families.push_back(std::move(**one));
  }
  return families;
}

}  // namespace plimsoll
