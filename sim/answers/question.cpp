#include "sim/answers/question.h"

#include "formats/machines/catalogue_platform.h"
#include "sim/answers/room_to_fit.h"
#include "sim/answers/stack_question.h"
#include "sim/answers/stack_savings.h"
#include "sim/cost/catalogue_cost_model.h"
#include "sim/cost/remembered_costs.h"
#include "sim/planner/fit_answer.h"
#include "sim/planner/parallel_for.h"
#include "sim/planner/plan_margin.h"

namespace plimsoll {

Result<Question> on_machine(Question question, CataloguedMachine machine) {
  auto platform = gpu_platform(machine.gpu, machine.options);
  // Another program's own rules say what it needs of host memory; for a plan of ours something must be left.
  if (!platform && (!question.stack || !validate(machine.options, machine.gpu))) return fail(platform.error());
  if (platform) question.platform = std::move(platform->platform);
  if (!question.costs) question.costs = std::make_shared<RememberedCosts>(std::make_shared<CatalogueCostModel>());
  question.machine = std::move(machine);
  return question;
}

namespace {

SearchProblem problem_of(const Question& question, const Effort& effort) {
  SearchProblem problem{question.spec, question.recipe, question.platform, *question.costs};
  problem.packings = effort.packings;
  return problem;
}

Result<SearchResult> search_for(const Question& question, const Effort& effort, bool plan) {
  return search_plan(question.spec, question.recipe, question.platform, *question.costs,
                     {.strategy = question.strategy,
                      .exact = question.exact,
                      .seeds = effort.seeds,
                      .instruction_budget = effort.instruction_budget,
                      .refine = effort.refine,
                      .threads = effort.threads,
                      .shared = effort.shared,
                      .packings = effort.packings,
                      .plan = plan});
}

/// Of a training that does not fit what could be added is looked for at the same time.
Result<FitAnswer> told(const Question& question, const SearchResult& search, const Effort& effort) {
  std::optional<Result<FitAnswer>> answer;
  std::vector<ChangeAnswer> larger;
  const auto tell = [&](std::size_t which) {
    if (which == 0) larger = room_to_fit(question, effort.room_budget, effort.packings);
    if (which == 1) answer = fit_answer(search, problem_of(question, effort), effort.alternatives);
  };
  if (search.plan || effort.room_budget == 0) return fit_answer(search, problem_of(question, effort), effort.alternatives);
  parallel_for(2, tell);
  if (*answer) (*answer)->larger = std::move(larger);
  return std::move(*answer);
}

/// Of another program; where it does not fit, with what would.
Result<FitAnswer> told_of_stack(const Question& question, const Effort& effort) {
  auto answer = answer_for_stack(question, StackDetail::kAll);
  if (!answer || answer->fits || effort.room_budget == 0) return answer;
  answer->smaller = stack_savings(question, *answer, effort.room_budget);
  answer->larger = stack_growth(question, *answer);
  return answer;
}

}  // namespace

Result<FitAnswer> answer_question(const Question& question, const Effort& effort) {
  if (const auto valid = validate(question.recipe, question.spec); !valid) return fail(valid.error());
  if (question.stack) return told_of_stack(question, effort);
  if (!effort.packings && !effort.shared) {
    Effort own = effort;
    own.packings = std::make_shared<KnownPackings>();
    return answer_question(question, own);
  }
  const auto search = search_for(question, effort, true);
  if (!search) return fail(search.error());
  auto answer = told(question, *search, effort);
  if (!answer || !search->plan || effort.margin_percent <= 0) return answer;
  const auto margin = plan_margin(problem_of(question, effort), *search, effort.margin_percent);
  if (!margin) return fail(margin.error());
  answer->margin = *margin;
  return answer;
}

Result<Candidate> best_candidate(const Question& question, const Effort& effort) {
  if (const auto valid = validate(question.recipe, question.spec); !valid) return fail(valid.error());
  auto search = search_for(question, effort, false);
  if (!search) return fail(search.error());
  if (search->candidates.empty()) return fail({.kind = ErrorKind::kInput, .what = "no strategy was left to look at"});
  return std::move(search->candidates.front());
}

std::int64_t sequences_a_sample(const Question& question) { return question.stack ? question.stack->preference.sequences() : 1; }

}  // namespace plimsoll
