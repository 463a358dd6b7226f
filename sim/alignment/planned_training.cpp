#include "sim/alignment/planned_training.h"

#include <algorithm>

#include "sim/planner/lower_to_plan.h"
#include "sim/planner/search_plan.h"

namespace plimsoll {
namespace {

Bytes lasting(const Plan& plan, SpaceKind kind, bool weights_only) {
  Bytes sum;
  for (const Buffer& buffer : plan.buffers) {
    if (!buffer.persistent || plan.platform.at(buffer.space).kind != kind) continue;
    if (!weights_only || buffer.category == TensorKind::kParameter) sum += buffer.extent();
  }
  return sum;
}

Bytes reserved(const Plan& plan, SpaceKind kind) {
  const auto space = plan.platform.space(kind);
  return space ? plan.arena_bytes(*space) : Bytes(0);
}

PlannedTraining numbers_of(const Plan& plan) {
  PlannedTraining planned{.strategy = plan.strategy.name};
  planned.device_peak = reserved(plan, SpaceKind::kDevice);
  planned.host_peak = reserved(plan, SpaceKind::kHost);
  planned.device_resting = lasting(plan, SpaceKind::kDevice, false);
  planned.host_resting = lasting(plan, SpaceKind::kHost, false);
  planned.device_weights = lasting(plan, SpaceKind::kDevice, true);
  return planned;
}

}  // namespace

Result<PlannedTraining> plan_training(const ModelSpec& spec, const Recipe& recipe, const Platform& platform,
                                      const CostModel& costs) {
  const auto search = search_plan(spec, recipe, platform, costs, {.refine = false});
  if (!search) return fail(search.error());
  if (search->plan) {
    PlannedTraining planned = numbers_of(*search->plan);
    planned.fits = true;
    planned.step_seconds = to_seconds(search->prediction->step);
    return planned;
  }
  const auto lowered = lower_to_plan(spec, recipe, platform, search->candidates.front().strategy);
  if (!lowered) return fail(lowered.error());
  PlannedTraining planned = numbers_of(*lowered);
  const auto step = predict_step(*lowered, costs);
  if (!step) return fail(step.error());
  planned.step_seconds = to_seconds(*step);
  return planned;
}

namespace {

/// A plan of one of two trainings: what it needs at its peak and at rest, by space of the platform.
struct TurnCandidate {
  Strategy strategy;
  std::vector<SpaceNeed> peak, resting;
  Nanoseconds step;
};

Result<std::vector<TurnCandidate>> turn_candidates(const SearchProblem& problem) {
  std::vector<TurnCandidate> found;
  const bool frozen = problem.recipe.adapter.exists();
  for (const Strategy& strategy :
       candidate_strategies(problem.spec.blocks(), problem.platform, problem.recipe.precision, frozen)) {
    auto tried = try_strategy(problem, strategy);
    if (!tried && tried.error().kind == ErrorKind::kInput) continue;
    if (!tried) return fail(tried.error());
    auto resting = lasting_needs(problem, strategy);
    if (!resting) return fail(resting.error());
    found.push_back({strategy, std::move(tried->needs), std::move(*resting), tried->step.value_or(Nanoseconds(0))});
  }
  if (found.empty()) return fail({.kind = ErrorKind::kInput, .what = "no strategy was left to look at"});
  return found;
}

/// What both turns are short of over all spaces.
Bytes missing(const TurnCandidate& a, const TurnCandidate& b) {
  Bytes sum;
  for (std::size_t s = 0; s < a.peak.size(); ++s) {
    const Bytes turn = std::max(a.peak[s].needed + b.resting[s].needed, b.peak[s].needed + a.resting[s].needed);
    sum += std::max(Bytes(0), turn - a.peak[s].usable);
  }
  return sum;
}

Result<PlannedTraining> numbers_of(const SearchProblem& problem, const Strategy& strategy, bool fits) {
  const auto plan = lower_to_plan(problem.spec, problem.recipe, problem.platform, strategy,
                                  {.quick_addresses = true, .graph = problem.graph.get()});
  if (!plan) return fail(plan.error());
  PlannedTraining planned = numbers_of(*plan);
  const auto step = predict_step(*plan, problem.costs);
  if (!step) return fail(step.error());
  planned.step_seconds = to_seconds(*step);
  planned.fits = fits;
  return planned;
}

}  // namespace

Result<std::pair<PlannedTraining, PlannedTraining>> plan_together(const ModelSpec& first, const ModelSpec& second,
                                                                  const Recipe& recipe, const Platform& platform,
                                                                  const CostModel& costs) {
  const SearchProblem problems[] = {{first, recipe, platform, costs, false, {}, graph_on(first, recipe, platform)},
                                    {second, recipe, platform, costs, false, {}, graph_on(second, recipe, platform)}};
  const auto firsts = turn_candidates(problems[0]);
  if (!firsts) return fail(firsts.error());
  const auto seconds = first == second ? firsts : turn_candidates(problems[1]);
  if (!seconds) return fail(seconds.error());
  const TurnCandidate* best[] = {nullptr, nullptr};
  const auto key = [](const TurnCandidate& a, const TurnCandidate& b) { return std::pair(missing(a, b), a.step + b.step); };
  for (const TurnCandidate& a : *firsts) {
    for (const TurnCandidate& b : *seconds) {
      if (best[0] == nullptr || key(a, b) < key(*best[0], *best[1])) best[0] = &a, best[1] = &b;
    }
  }
  const bool fits = missing(*best[0], *best[1]).count == 0;
  auto one = numbers_of(problems[0], best[0]->strategy, fits);
  if (!one) return fail(one.error());
  auto other = numbers_of(problems[1], best[1]->strategy, fits);
  if (!other) return fail(other.error());
  return std::pair(std::move(*one), std::move(*other));
}

}  // namespace plimsoll
