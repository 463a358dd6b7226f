#include "sim/answers/question.h"

#include "formats/machines/catalogue_platform.h"
#include "sim/answers/stack_question.h"
#include "sim/cost/catalogue_cost_model.h"
#include "sim/cost/remembered_costs.h"
#include "sim/planner/fit_answer.h"
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

Result<FitAnswer> answer_question(const Question& question, const Effort& effort) {
  if (const auto valid = validate(question.recipe, question.spec); !valid) return fail(valid.error());
  if (question.stack) return answer_for_stack(question, StackDetail::kAll);
  const SearchProblem problem{question.spec, question.recipe, question.platform, *question.costs};
  const auto search = search_plan(problem.spec, problem.recipe, problem.platform, problem.costs,
                                  {.strategy = question.strategy,
                                   .exact = question.exact,
                                   .seeds = effort.seeds,
                                   .instruction_budget = effort.instruction_budget,
                                   .refine = effort.refine,
                                   .threads = effort.threads,
                                   .shared = effort.shared});
  if (!search) return fail(search.error());
  auto answer = fit_answer(*search, problem, effort.alternatives);
  if (!answer || !search->plan || effort.margin_percent <= 0) return answer;
  const auto margin = plan_margin(problem, *search, effort.margin_percent);
  if (!margin) return fail(margin.error());
  answer->margin = *margin;
  return answer;
}

}  // namespace plimsoll
