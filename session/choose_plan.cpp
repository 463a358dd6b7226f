#include "session/choose_plan.h"

#include <fmt/format.h>

#include "core/plan/verify_plan.h"
#include "formats/plans/plan_json.h"
#include "session/warm_up.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> refused(std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = std::move(remedy)});
}

Result<void> check_machine(const Plan& plan, const Platform& here) {
  const std::string remake = "make a plan for this computer: plimsoll plan MODEL -o plan.json";
  const auto compute = plan.platform.queue("compute");
  if (!compute) return refused("the plan has no queue 'compute'", remake);
  const Processor& processor = plan.platform.at(plan.platform.at(*compute).processor);
  const Processor& own = here.at(here.at(*here.queue("compute")).processor);
  if (processor.kind != own.kind) {
    return refused(fmt::format("the plan was made for '{}', and this build runs plans on the CPU", plan.platform.name),
                   remake);
  }
  if (processor.cores > own.cores) {
    return refused(fmt::format("the plan was made for {} cores, this computer offers {}", processor.cores, own.cores),
                   remake);
  }
  for (const Arena& arena : plan.arenas) {
    const MemorySpace& wanted = plan.platform.at(arena.space);
    const auto space = here.space(wanted.kind);
    if (!space) {
      return refused(fmt::format("the plan uses '{}', which this computer lacks", wanted.name),
                     wanted.kind == SpaceKind::kSsd ? "say how much of its drive may be used: --ssd SIZE" : remake);
    }
    if (arena.bytes > here.at(*space).usable) {
      return fail(does_not_fit("the plan", here, {{*space, arena.bytes, here.at(*space).usable}}));
    }
  }
  return {};
}

Result<ChosenPlan> from_file(const RunRequest& request, const CostModel& costs, const StepOdds& odds) {
  if (const auto runs = check_own_plan(request); !runs) return fail(runs.error());
  ChosenPlan chosen{.plan = *request.plan};
  auto prediction = predict(chosen.plan, costs, odds);
  if (!prediction) return fail(prediction.error());
  chosen.prediction = std::move(*prediction);
  return chosen;
}

Result<ChosenPlan> searched(const RunRequest& request, const CostModel& costs, const StepOdds& odds) {
  auto search = search_plan(request.spec, request.recipe, request.machine, costs,
                            {.strategy = request.strategy,
                             .exact = request.exact_strategy,
                             .evaluation = !request.evaluation_data.empty(),
                             .odds = odds,
                             .device_updates = device_updates(request)});
  if (!search) return fail(search.error());
  if (!search->plan) {
    const std::string what = request.exact_strategy ? fmt::format("strategy '{}'", request.exact_strategy->name) : "every plan";
    return fail(does_not_fit(what, request.machine, search->candidates.front().needs));
  }
  return ChosenPlan{std::move(*search->plan), {}, std::move(*search->prediction), std::move(search->candidates)};
}

}  // namespace

Result<void> check_own_plan(const RunRequest& request) {
  if (!request.plan) return {};
  for (const char* body : {"step", "evaluation"}) {
    const bool needed = std::string_view(body) == "step" || !request.evaluation_data.empty();
    if (needed && request.plan->body(body) == nullptr) {
      return refused(fmt::format("the plan has no body '{}'", body), "make one with plimsoll plan MODEL -o plan.json");
    }
  }
  return check_machine(*request.plan, request.machine);
}

Result<ChosenPlan> choose_plan(const RunRequest& request, const CostModel& costs, const StepOdds& odds) {
  auto chosen = request.plan ? from_file(request, costs, odds) : searched(request, costs, odds);
  if (!chosen) return chosen;
  if (const auto verified = verify_plan(chosen->plan); !verified) return fail(verified.error());
  chosen->digest = plan_digest(chosen->plan);
  chosen->prediction.trace.plan_digest = chosen->digest;
  return chosen;
}

}  // namespace plimsoll
