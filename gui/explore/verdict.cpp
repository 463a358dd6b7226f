#include "gui/explore/verdict.h"

#include "gui/jobs/stoppable_costs.h"
#include "sim/answers/room_to_fit.h"
#include "sim/planner/fit_answer.h"
#include "sim/planner/lower_bound.h"

namespace plimsoll::gui {
namespace {

Verdict described(const Problem& problem) {
  Verdict verdict;
  verdict.notes = problem.notes;
  verdict.machine = problem.platform.name;
  verdict.recipe = problem.recipe;
  return verdict;
}

/// What could be added to the machine with which it would fit.
std::vector<ChangeAnswer> additions(const Problem& problem, const Choices& choices, const Stop& stop) {
  return room_to_fit({.spec = problem.spec,
                      .recipe = problem.recipe,
                      .strategy = choices.strategy.toStdString(),
                      .exact = choices.exact,
                      .machine = problem.machine,
                      .platform = problem.platform,
                      .costs = std::make_shared<StoppableCosts>(*problem.costs, stop)},
                     kRoomBudget);
}

/// The plan of a strategy, whether it fits or not, with what it would take.
Result<PredictedPlan> predicted(const Problem& problem, const Strategy& strategy, const CostModel& costs) {
  auto plan = lower_to_plan(problem.spec, problem.recipe, problem.platform, strategy);
  if (!plan) return fail(plan.error());
  auto prediction = predict(*plan, costs);
  if (!prediction) return fail(prediction.error());
  const auto bound = lower_bound(*plan, costs);
  if (!bound) return fail(bound.error());
  FitAnswer answer = fit_answer(*plan, *prediction, *bound, costs.source());
  return PredictedPlan{std::move(*plan), std::move(*prediction), std::move(answer)};
}

}  // namespace

Result<SharedVerdict> first_look(const Problem& problem, const Strategy& strategy, const Stop& stop) {
  const StoppableCosts costs(*problem.costs, stop);
  auto plan = predicted(problem, strategy, costs);
  if (!plan) return fail(plan.error());
  Verdict verdict = described(problem);
  verdict.plan = std::make_shared<const PredictedPlan>(std::move(*plan));
  return std::make_shared<const Verdict>(std::move(verdict));
}

Result<SharedVerdict> full_answer(const Problem& problem, const Choices& choices, const Stop& stop) {
  const StoppableCosts costs(*problem.costs, stop);
  auto search = search_plan(problem.spec, problem.recipe, problem.platform, costs,
                            {.strategy = choices.strategy.toStdString(), .exact = choices.exact});
  if (!search) return fail(search.error());
  auto answer = fit_answer(*search, {problem.spec, problem.recipe, problem.platform, costs});
  if (!answer) return fail(answer.error());
  Verdict verdict = described(problem);
  verdict.searched = true;
  if (search->plan) {
    verdict.plan = std::make_shared<const PredictedPlan>(
        PredictedPlan{std::move(*search->plan), std::move(*search->prediction), std::move(*answer)});
  } else {
    auto nearest = predicted(problem, answer->strategy, costs);
    if (!nearest) return fail(nearest.error());
    answer->larger = additions(problem, choices, stop);
    nearest->answer = std::move(*answer);
    verdict.plan = std::make_shared<const PredictedPlan>(std::move(*nearest));
  }
  verdict.candidates = std::move(search->candidates);
  return std::make_shared<const Verdict>(std::move(verdict));
}

}  // namespace plimsoll::gui
