#include "sim/planner/search_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <tuple>

#include "core/base/nearest_names.h"
#include "core/graph/buildable.h"
#include "sim/planner/fewer_micro_batches.h"
#include "sim/planner/parallel_for.h"
#include "sim/planner/refine_candidates.h"
#include "sim/planner/search_prepared.h"
#include "sim/planner/share_programme.h"
#include "sim/planner/systems/system_candidates.h"

namespace plimsoll {
namespace {

/// How many strategies a refinement's instructions may at most and at least be.
constexpr std::size_t kMostEvaluations = 400;
constexpr std::size_t kLeastEvaluations = 12;
/// Of so many different tiers the shares of blocks are chosen by linear programmes.
constexpr std::size_t kBases = 4;
/// Steps that are read off fewer micro-batches are shorter than what they stand for: so many times the effort, some of it later.
constexpr std::size_t kReadOff = 2;
/// From so many of the plans that systems and linear programmes came to a second search starts, with one part in so many of the
/// first one's effort.
constexpr std::size_t kLaterStarts = 2;
constexpr std::size_t kLaterShare = 2;
/// Exact addresses are looked for of so many that are short of least; beside the best plan for one part in so many of the effort.
constexpr std::size_t kTightTries = 8;
constexpr std::size_t kTightShare = 8;

Result<void> check_name(const std::string& wanted) {
  std::vector<std::string> names = strategy_names();
  names.insert(names.begin(), "auto");
  if (std::find(names.begin(), names.end(), wanted) != names.end()) return {};
  return fail({.kind = ErrorKind::kUnknownName,
               .what = fmt::format("unknown strategy '{}'", wanted),
               .where = {},
               .remedy = did_you_mean(wanted, names)});
}

/// States come to the device for their update.
bool visits_device(const Strategy& strategy) { return strategy.device_update_blocks > 0; }

/// What is tried first. A family that was asked for by name is tried even where it cannot work, so that it is said why.
std::vector<Strategy> starting_points(const SearchProblem& problem, const SearchOptions& options) {
  if (options.exact) return {*options.exact};
  const Precision precision = problem.recipe.precision;
  const bool frozen = problem.recipe.adapter.exists();
  if (options.strategy == "auto") {
    std::vector<Strategy> all = candidate_strategies(problem.spec.blocks(), problem.platform, precision, frozen);
    std::erase_if(all, visits_device);  // see search_visits
    for (Strategy seed : options.seeds) {
      seed.name = family_of(seed);
      all.push_back(std::move(seed));
    }
    return all;
  }
  std::vector<Strategy> family = all_candidate_strategies(problem.spec.blocks(), precision, frozen);
  std::erase_if(family, [&](const Strategy& s) { return s.name != options.strategy; });
  return family;
}

std::size_t evaluations_for(const std::vector<Candidate>& candidates, std::size_t budget, std::size_t longest) {
  for (const Candidate& candidate : candidates) longest = std::max(longest, candidate.instructions);
  return std::clamp(budget / longest, kLeastEvaluations, kMostEvaluations);
}

/// Adds what named systems would do, so that the answer is never worse than one of them.
Result<void> add_systems(const SearchProblem& problem, const SearchOptions& options, const Look& look,
                         std::vector<Candidate>& candidates) {
  auto systems = system_candidates(problem, look, options.threads);
  if (!systems) return fail(systems.error());
  for (Candidate& system : *systems) {
    const bool known = std::any_of(candidates.begin(), candidates.end(),
                                   [&](const Candidate& one) { return one.strategy == system.strategy; });
    if (!known) candidates.push_back(std::move(system));
  }
  return {};
}

bool same_tiers(const Strategy& a, const Strategy& b) {
  const auto tiers = [](const Strategy& s) {
    return std::tuple(s.parameters, s.optimizer, s.gradients, s.activations, s.loop_order, s.update_in_backward,
                      s.recompute_every > 0);
  };
  return tiers(a) == tiers(b);
}

/// The best candidates of different tiers and orders, each with shares of blocks to choose; `visits`: those whose states come to the
/// device for their update, or those whose do not.
std::vector<Strategy> best_bases(const std::vector<Candidate>& candidates, bool visits) {
  std::vector<const Candidate*> order;
  for (const Candidate& candidate : candidates) {
    const Strategy& s = candidate.strategy;
    const bool on_device = s.parameters == Tier::kDevice && s.optimizer == Tier::kDevice && s.activations == Tier::kDevice;
    if (visits_device(s) != visits) continue;
    if (!on_device && (!candidate.glanced || !candidate.step)) order.push_back(&candidate);
  }
  std::stable_sort(order.begin(), order.end(), [](const Candidate* a, const Candidate* b) { return better(*a, *b); });
  std::vector<Strategy> bases;
  for (const Candidate* candidate : order) {
    const auto known = [&](const Strategy& base) { return same_tiers(base, candidate->strategy); };
    if (std::none_of(bases.begin(), bases.end(), known)) bases.push_back(candidate->strategy);
    if (bases.size() == kBases) break;
  }
  return bases;
}

/// Adds the best bases with the shares that a linear programme finds for each.
Result<void> add_fractions(const SearchProblem& problem, const SearchOptions& options, const Look& look, bool visits,
                           std::vector<Candidate>& candidates) {
  const std::vector<Strategy> bases = best_bases(candidates, visits);
  std::vector<std::optional<Result<std::vector<Strategy>>>> found(bases.size());
  parallel_for(bases.size(), [&](std::size_t i) { found[i] = rounded_shares(problem, bases[i], options.threads); }, options.threads);
  std::vector<Strategy> rounded;
  for (std::optional<Result<std::vector<Strategy>>>& one : found) {
    if (!*one && one->error().kind != ErrorKind::kInput) return fail(one->error());
    if (!*one) continue;
    for (Strategy& strategy : **one) {
      const bool known = std::any_of(candidates.begin(), candidates.end(),
                                     [&](const Candidate& candidate) { return candidate.strategy == strategy; });
      if (!known) rounded.push_back(std::move(strategy));
    }
  }
  return try_all(problem, rounded, look, options.threads, candidates);
}

bool any_fits(const std::vector<Candidate>& candidates) {
  return std::any_of(candidates.begin(), candidates.end(), [](const Candidate& candidate) { return candidate.fits(); });
}

/// The step of the best plan so far.
std::optional<Nanoseconds> fastest(const std::vector<Candidate>& candidates) {
  std::optional<Nanoseconds> least;
  for (const Candidate& candidate : candidates) {
    if (candidate.fits() && candidate.step && !candidate.glanced && (!least || *candidate.step < *least)) least = candidate.step;
  }
  return least;
}

/// Where only room is asked for, the first plan that fits ends the search.
bool done(const SearchOptions& options, const std::vector<Candidate>& candidates) {
  return options.memory && any_fits(candidates);
}

/// Whether a walk comes to plans whose states come to the device for their update.
enum class Visits : std::uint8_t { kNone, kToo, kOnly };

/// Local search from those candidates (none: from the best few families').
Result<void> refine_from(const SearchProblem& problem, const SearchOptions& options, std::vector<std::size_t> from, Visits visits,
                         std::vector<Candidate>& candidates) {
  const std::size_t at_least = options.memory && problem.graph ? problem.graph->ops.size() : 1;
  const std::size_t whole = problem.fewer ? kReadOff * options.instruction_budget : options.instruction_budget;
  const bool first = from.empty() && visits != Visits::kOnly;
  const std::size_t budget = first || !any_fits(candidates) ? whole : whole / kLaterShare;
  return refine_candidates(problem,
                           {.family = options.strategy == "auto" ? "" : options.strategy,
                            .evaluations = evaluations_for(candidates, budget, at_least),
                            .threads = options.threads,
                            .memory = options.memory,
                            .visits = visits != Visits::kNone,
                            .only_visits = visits == Visits::kOnly,
                            .from = std::move(from)},
                           candidates);
}

/// Positions of those that `are` says so and that were looked at to the end, best first, `most` of them.
template <typename Are>
std::vector<std::size_t> best_of(const std::vector<Candidate>& candidates, std::size_t most, const Are& are) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!candidates[i].glanced && are(i)) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return better(candidates[a], candidates[b]); });
  order.resize(std::min(order.size(), most));
  return order;
}

/// Walks may end where only several changes at once would help: systems and linear programmes are elsewhere.
Result<void> search_further(const SearchProblem& problem, const SearchOptions& options, std::vector<Candidate>& candidates) {
  const std::size_t before = candidates.size();
  const Look look{.memory = options.memory};
  if (options.systems) {
    const Look faster{.memory = options.memory, .below = fastest(candidates)};
    if (const auto added = add_systems(problem, options, faster, candidates); !added) return added;
  }
  if (options.fractions && !done(options, candidates)) {
    if (const auto added = add_fractions(problem, options, look, false, candidates); !added) return added;
  }
  if (done(options, candidates)) return {};
  std::vector<std::size_t> from = best_of(candidates, kLaterStarts, [&](std::size_t i) { return i >= before; });
  if (from.empty()) return {};
  return refine_from(problem, options, std::move(from), Visits::kNone, candidates);
}

/// Adds what linear programmes find for plans whose states come to the device, and walks among such plans from the best of that.
Result<void> search_shares(const SearchProblem& problem, const SearchOptions& options, std::vector<Candidate>& candidates) {
  const std::size_t before = candidates.size();
  if (const auto added = add_fractions(problem, options, {.memory = options.memory}, true, candidates); !added) return added;
  std::vector<std::size_t> from = best_of(candidates, kLaterStarts, [&](std::size_t i) { return i >= before; });
  if (from.empty() || done(options, candidates)) return {};
  return refine_from(problem, options, std::move(from), Visits::kOnly, candidates);
}

/// Walks from the best plan of all, which is free to leave plans whose states come to the device; nothing where that plan was walked from.
Result<void> walk_from_best(const SearchProblem& problem, const SearchOptions& options, std::vector<Candidate>& candidates,
                            std::optional<Strategy>& walked_from) {
  if (problem.fewer || done(options, candidates)) return {};  // what reads too short would stand before what does not when plans are confirmed
  std::vector<std::size_t> best = best_of(candidates, 1, [](std::size_t) { return true; });
  if (best.empty() || candidates[best.front()].strategy == walked_from) return {};
  walked_from = candidates[best.front()].strategy;
  return refine_from(problem, options, std::move(best), Visits::kToo, candidates);
}

/// Among plans whose states come to the device: programmes and walks from what is best, then from the best of `families`, from which
/// programmes may have led away, and programmes from what these came to.
Result<void> walk_visits(const SearchProblem& problem, const SearchOptions& options, std::vector<std::size_t> families,
                         std::vector<Candidate>& candidates) {
  const Look look{.memory = options.memory};
  std::optional<Strategy> walked_from;
  if (options.fractions) {
    if (const auto added = add_fractions(problem, options, look, true, candidates); !added || done(options, candidates)) return added;
  }
  if (const auto walked = refine_from(problem, options, {}, Visits::kOnly, candidates); !walked || done(options, candidates)) return walked;
  if (const auto walked = walk_from_best(problem, options, candidates, walked_from); !walked) return walked;
  if (families.empty()) return {};
  const auto from_families = refine_from(problem, options, std::move(families), Visits::kOnly, candidates);
  if (!from_families || done(options, candidates)) return from_families;
  if (options.fractions) {
    if (const auto shared = search_shares(problem, options, candidates); !shared) return shared;
  }
  return walk_from_best(problem, options, candidates, walked_from);
}

/// States that come to the device for their update shift what is the best of everything else: walks of their own, among such plans
/// alone and from the best plan of all.
Result<void> search_visits(const SearchProblem& problem, const SearchOptions& options, std::vector<Candidate>& candidates) {
  const std::vector<std::size_t> best = best_of(candidates, 1, [](std::size_t) { return true; });
  if (!best.empty() && candidates[best.front()].fits() && candidates[best.front()].strategy.optimizer == Tier::kDevice) return {};
  if (problem.recipe.adapter.exists()) return {};  // whose states are few
  std::vector<Strategy> visiting = candidate_strategies(problem.spec.blocks(), problem.platform, problem.recipe.precision);
  std::erase_if(visiting, std::not_fn(visits_device));
  const std::size_t before = candidates.size();
  if (const auto tried = try_all(problem, visiting, {.memory = options.memory}, options.threads, candidates); !tried) return tried;
  if (!options.refine || done(options, candidates)) return {};
  return walk_visits(problem, options, best_of(candidates, kLaterStarts, [&](std::size_t i) { return i >= before; }), candidates);
}

/// Looks for exact addresses of the least short of those whose load may fit, unless what fits is faster anyway.
Result<void> try_tightly(const SearchProblem& problem, const SearchOptions& options, std::vector<Candidate>& candidates) {
  std::stable_sort(candidates.begin(), candidates.end(), better);
  std::vector<Strategy> tight;
  for (const Candidate& candidate : candidates) {
    const bool may_fit = candidate.loose || (options.memory && !candidate.glanced);
    if (!candidate.fits() && may_fit && tight.size() < kTightTries) tight.push_back(candidate.strategy);
  }
  const Look look{.memory = options.memory, .tight = true, .below = fastest(candidates)};
  return try_all(problem, tight, look, options.threads, candidates);
}

/// From the best plan to those beside it that fit by exact addresses alone: only at the very end, because a walk that takes such
/// plans early may end elsewhere, at a slower one.
Result<void> polish(const SearchProblem& problem, const SearchOptions& options, std::vector<Candidate>& candidates) {
  const auto best = std::min_element(candidates.begin(), candidates.end(), better);
  return refine_candidates(problem,
                           {.family = options.strategy == "auto" ? "" : options.strategy,
                            .evaluations = evaluations_for(candidates, options.instruction_budget / kTightShare, 1),
                            .threads = options.threads,
                            .tight = true,
                            .from = {static_cast<std::size_t>(best - candidates.begin())}},
                           candidates);
}

/// Of what was looked at after the first `before`, only what fits stays, in the place of what was known of it.
void keep_what_fits(std::vector<Candidate>& candidates, std::size_t before) {
  std::vector<Candidate> later(candidates.begin() + static_cast<std::ptrdiff_t>(before), candidates.end());
  candidates.resize(before);
  std::erase_if(later, [](const Candidate& one) { return one.glanced || !one.fits(); });
  std::erase_if(candidates, [&](const Candidate& one) {
    return std::any_of(later.begin(), later.end(), [&](const Candidate& other) { return other.strategy == one.strategy; });
  });
  candidates.insert(candidates.end(), later.begin(), later.end());
}

/// Exact addresses, where they decide: of what nearly fits, and at last beside the best plan. A search of less effort asks for
/// them only where nothing fits.
Result<void> search_tightly(const SearchProblem& problem, const SearchOptions& options, std::vector<Candidate>& candidates) {
  if (done(options, candidates)) return {};
  const std::size_t before = candidates.size();
  const bool thorough = options.refine && options.instruction_budget >= kInstructionBudget;
  if (thorough || !any_fits(candidates)) {
    if (const auto tried = try_tightly(problem, options, candidates); !tried) return tried;
  }
  if (thorough && !options.exact && !options.memory && any_fits(candidates)) {
    if (const auto polished = polish(problem, options, candidates); !polished) return polished;
  }
  keep_what_fits(candidates, before);
  return {};
}

Result<std::vector<Candidate>> try_strategies(const SearchProblem& problem, const SearchOptions& options) {
  if (const OffloadSystem* system = options.exact ? nullptr : find_system(options.strategy)) {
    auto tried = try_system(problem, *system, {.memory = options.memory});
    if (!tried) return fail(tried.error());
    return std::vector<Candidate>{std::move(*tried)};
  }
  std::vector<Candidate> candidates;
  const Look look{.memory = options.memory};
  if (const auto tried = try_all(problem, starting_points(problem, options), look, options.threads, candidates); !tried) {
    return fail(tried.error());
  }
  const bool refine = options.refine && !options.exact;
  if (refine && !done(options, candidates)) {
    if (const auto walked = refine_from(problem, options, {}, options.strategy == "auto" ? Visits::kNone : Visits::kToo, candidates); !walked) return fail(walked.error());
  }
  if (refine && options.strategy == "auto" && !done(options, candidates)) {
    if (const auto further = search_further(problem, options, candidates); !further) return fail(further.error());
  }
  if (options.strategy == "auto" && !options.exact && !done(options, candidates)) {
    if (const auto visits = search_visits(problem, options, candidates); !visits) return fail(visits.error());
  }
  if (const auto tight = search_tightly(problem, options, candidates); !tight) return fail(tight.error());
  std::stable_sort(candidates.begin(), candidates.end(), better);
  return candidates;
}

/// What was read off fewer micro-batches is looked at whole, and walked on from a little: the less, the longer it is.
Result<void> look_whole(const SearchProblem& problem, const SearchOptions& options, std::vector<Candidate>& candidates) {
  if (!problem.fewer) return {};
  auto confirmed = confirmed_best(problem, {.memory = options.memory, .tight = true}, options.threads, candidates);
  if (!confirmed) return fail(confirmed.error());
  if (options.refine && !done(options, *confirmed) && any_fits(*confirmed)) {
    const std::size_t length = std::max<std::size_t>(1, confirmed->front().instructions);
    const RefineOptions nearby{.family = options.strategy == "auto" ? "" : options.strategy,
                               .evaluations = std::clamp<std::size_t>(options.instruction_budget / length, 1, kLeastEvaluations),
                               .threads = options.threads,
                               .from = {0}};
    if (const auto walked = refine_candidates(whole_step(problem), nearby, *confirmed); !walked) return walked;
    std::stable_sort(confirmed->begin(), confirmed->end(), better);
  }
  candidates.insert(candidates.begin(), confirmed->begin(), confirmed->end());
  return {};
}

}  // namespace

Result<std::vector<Candidate>> search_prepared(SearchProblem problem, const SearchOptions& options) {
  problem.known = std::make_shared<KnownSteps>();
  auto candidates = try_strategies(problem, options);
  if (!candidates) return candidates;
  if (const auto whole = look_whole(problem, options, *candidates); !whole) return fail(whole.error());
  return candidates;
}

Result<SearchResult> search_plan(const ModelSpec& spec, const Recipe& recipe, const Platform& platform, const CostModel& costs,
                                 const SearchOptions& options) {
  if (!options.exact) {
    if (const auto known = check_name(options.strategy); !known) return fail(known.error());
  }
  if (const auto buildable = check_buildable(spec, recipe); !buildable) return fail(buildable.error());
  SearchProblem asked{spec, recipe, platform, costs, options.evaluation, options.odds};
  asked.packings = options.packings;
  asked.device_updates = options.device_updates;
  SearchProblem problem = prepared(std::move(asked), options.shared);
  if (options.memory && problem.graph) problem.shorter = std::make_shared<ShorterModels>(*problem.graph, platform);
  if (options.exact) problem.fewer.reset();
  auto candidates = search_prepared(problem, options);
  if (!candidates) return fail(candidates.error());
  SearchResult result{.candidates = std::move(*candidates)};
  if (options.memory || !options.plan || result.candidates.empty() || !result.candidates.front().fits()) return result;
  auto plan = lower_to_plan(spec, recipe, platform, result.candidates.front().strategy,
                            {.evaluation = options.evaluation, .packings = problem.packings.get(), .outline = problem.outline.get(), .graph = problem.graph.get()});
  if (!plan) return fail(plan.error());
  auto prediction = predict(*plan, costs, options.odds);
  if (!prediction) return fail(prediction.error());
  result.plan = std::move(*plan);
  result.prediction = std::move(*prediction);
  return result;
}

}  // namespace plimsoll
