#include "sim/planner/fewer_micro_batches.h"

#include <algorithm>
#include <set>
#include <string>

#include "sim/planner/refine_candidates.h"

namespace plimsoll {
namespace {

/// The fewest that show what one more takes: the first and the last are unlike those between.
constexpr std::int64_t kLonger = 3;
/// So many of the best are looked at whole at a time, and no more once so many were.
constexpr std::size_t kAtATime = 4;
constexpr std::size_t kMost = 12;
/// And of so many other families the best.
constexpr std::size_t kFamilies = 8;

Recipe with_micro_batches(Recipe recipe, std::int64_t count) {
  recipe.accumulate = count;
  return recipe;
}

SearchProblem shorter_problem(const SearchProblem& whole, const Recipe& recipe, const std::shared_ptr<SharedSteps>& shared) {
  SearchProblem few{whole.spec, recipe, whole.platform, whole.costs, whole.evaluation, whole.odds};
  few.packings = whole.packings;
  SearchProblem problem = prepared(std::move(few), shared);
  problem.known = std::make_shared<KnownSteps>();
  if (problem.graph) problem.shorter = std::make_shared<ShorterModels>(*problem.graph, whole.platform);
  return problem;
}

/// What the whole step's load alone takes of each space. Fails as lower_to_plan does.
Result<std::vector<SpaceNeed>> whole_bounds(const SearchProblem& whole, const Strategy& strategy) {
  const auto plan = lower_to_plan(whole.spec, whole.recipe, whole.platform, strategy,
                                  {.nameless = true,
                                   .sizes = whole.sizes.get(),
                                   .outline = whole.outline.get(),
                                   .bounds_only = true,
                                   .graph = whole.graph.get()});
  if (!plan) return fail(plan.error());
  return space_needs(*plan);
}

/// What the short steps wait for (an update, say) may be nothing that grows: the whole step takes no less than its busiest
/// queue works.
Nanoseconds whole_time(const Candidate& longer, const Candidate& shorter, std::int64_t further) {
  double busiest = 0;
  for (std::size_t q = 0; q < std::min(longer.loads.size(), shorter.loads.size()); ++q)
    busiest = std::max(busiest, longer.loads[q] + static_cast<double>(further) * (longer.loads[q] - shorter.loads[q]));
  const Nanoseconds of_each = std::max(Nanoseconds(0), *longer.step - *shorter.step);
  return std::max(*longer.step + of_each * further, Nanoseconds(static_cast<std::int64_t>(busiest)));
}

/// Models with fewer blocks are asked only where the whole search asks them.
SearchProblem as_asked(const SearchProblem& problem, const SearchProblem& whole) {
  SearchProblem asked = problem;
  if (!whole.shorter) asked.shorter.reset();
  return asked;
}

}  // namespace

FewerMicroBatches::FewerMicroBatches(const SearchProblem& whole, const std::shared_ptr<SharedSteps>& shared)
    : recipes_{with_micro_batches(whole.recipe, kLonger), with_micro_batches(whole.recipe, kLonger - 1)},
      further_(whole.recipe.accumulate - kLonger) {
  for (const Recipe& recipe : recipes_) problems_.push_back(shorter_problem(whole, recipe, shared));
}

Result<Candidate> FewerMicroBatches::look(const SearchProblem& whole, const Strategy& strategy, const Look& look) const {
  std::vector<SpaceNeed> bounds;  // of what holds all micro-batches at once, each moment's load grows by its own amount
  if (strategy.loop_order == LoopOrder::kBreadthFirst) {
    auto needs = whole_bounds(whole, strategy);
    if (!needs) return fail(needs.error());
    if (!all_fit(*needs)) return Candidate{.strategy = strategy, .needs = std::move(*needs), .step = {}};
    bounds = std::move(*needs);
  }
  Look to_the_end = look;
  to_the_end.below.reset();  // a bound of a short step says nothing of the whole one
  to_the_end.loads = true;
  auto longer = try_strategy(as_asked(problems_[0], whole), strategy, to_the_end);
  if (!longer || longer->glanced) return longer;
  const auto shorter = try_strategy(as_asked(problems_[1], whole), strategy, to_the_end);
  if (!shorter) return fail(shorter.error());
  for (std::size_t i = 0; i < longer->needs.size(); ++i) {
    const Bytes more = bounds.empty() ? Bytes(further_ * (longer->bounds[i] - shorter->bounds[i]).count)
                                      : bounds[i].needed - longer->bounds[i];
    longer->needs[i].needed += more;
  }
  longer->instructions += shorter->instructions;
  if (!longer->step || !shorter->step || !longer->fits()) {
    longer->step.reset();
    return longer->fits() ? try_strategy(whole_step(whole), strategy, look) : std::move(longer);
  }
  longer->step = whole_time(*longer, *shorter, further_);
  return longer;
}

SearchProblem whole_step(SearchProblem problem) {
  problem.fewer.reset();
  return problem;
}

namespace {

/// Takes the best candidates that pass out of the list, `most` of them: not those that were glanced at.
template <typename Passes>
std::vector<Strategy> take_best(std::vector<Candidate>& candidates, std::size_t most, const Passes& passes) {
  std::vector<Strategy> taken;
  std::erase_if(candidates, [&](const Candidate& one) {
    if (taken.size() == most || one.glanced || !passes(one)) return false;
    taken.push_back(one.strategy);
    return true;
  });
  return taken;
}

/// By more than what is read off is off in any case: one part in so many.
constexpr std::int64_t kLeastGain = 1000;

bool reads_better(const Candidate& read, const Candidate& known) {
  if (!read.fits() || !known.fits() || !read.step || !known.step) return better(read, known);
  return read.step->count < known.step->count - known.step->count / kLeastGain;
}

}  // namespace

Result<std::vector<Candidate>> confirmed_best(const SearchProblem& problem, const Look& look, unsigned threads,
                                              std::vector<Candidate>& candidates) {
  const SearchProblem whole = whole_step(problem);
  std::stable_sort(candidates.begin(), candidates.end(), better);
  std::vector<Candidate> confirmed;
  Look closely = look;
  const auto any = [](const Candidate&) { return true; };
  const auto one_by_one = [](const Candidate& one) { return one.strategy.loop_order == LoopOrder::kDepthFirst; };
  std::vector<Strategy> next = take_best(candidates, 1, one_by_one);
  if (next.empty()) next = take_best(candidates, kAtATime, any);
  while (!next.empty()) {
    if (const auto tried = try_all(whole, next, closely, threads, confirmed); !tried) return fail(tried.error());
    std::stable_sort(confirmed.begin(), confirmed.end(), better);
    const bool gained = std::find(next.begin(), next.end(), confirmed.front().strategy) != next.end();
    if (!gained && confirmed.front().fits()) break;  // what is read off is too good to be true
    if (confirmed.size() > kMost) break;
    next = take_best(candidates, kAtATime, [&](const Candidate& one) { return reads_better(one, confirmed.front()); });
    if (confirmed.front().fits()) closely.below = confirmed.front().step;
  }
  // Of one family all may read too short; another's best would wait behind them.
  std::set<std::string> families;
  for (const Candidate& one : confirmed) families.insert(one.strategy.name);
  next = take_best(candidates, kFamilies, [&](const Candidate& one) {
    const bool reads_well = confirmed.empty() || reads_better(one, confirmed.front());
    return reads_well && families.insert(one.strategy.name).second;
  });
  if (!next.empty()) {
    if (const auto tried = try_all(whole, next, closely, threads, confirmed); !tried) return fail(tried.error());
    std::stable_sort(confirmed.begin(), confirmed.end(), better);
  }
  return confirmed;
}

}  // namespace plimsoll
