#include "sim/planner/predict.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "core/plan/expand.h"
#include "sim/cost/cost_edge.h"
#include "sim/des/simulate.h"
#include "sim/planner/parallel_for.h"

namespace plimsoll {
namespace {

Nanoseconds steady_duration(const Trace& trace) { return trace.steps[steady_step(trace)].duration(); }

Result<Nanoseconds> steady_duration(const Plan& plan, const FlatBody& step, const CostModel& costs, double guard_probability) {
  const SimulateOptions options{.steps = kPredictedSteps, .guard_probability = guard_probability, .keep_events = false};
  const auto trace = simulate(plan, step, costs, options);
  if (!trace) return fail(trace.error());
  return steady_duration(*trace);
}

/// What most steps do.
double usual(double guard_probability) { return guard_probability < 0.5 ? 0 : 1; }

/// The mean over steps of which each finds its flags set with that probability.
Nanoseconds mean(const GuardedSteps& steps) {
  const double more = steps.probability * static_cast<double>((steps.run - steps.skipped).count);
  return steps.skipped + Nanoseconds(std::llround(more));
}

bool has_guards(const FlatBody& step) {
  return std::any_of(step.list.instructions.begin(), step.list.instructions.end(),
                     [](const Instruction& instruction) { return instruction.guard != kNoGuard; });
}

/// Whether all steps are alike.
bool is_certain(const FlatBody& step, double guard_probability) {
  return guard_probability == 0 || guard_probability == 1 || !has_guards(step);
}

/// Both times; two steps in a row are taken to be alike.
Result<GuardedSteps> guarded_steps(const Plan& plan, const FlatBody& step, const CostModel& costs, double probability) {
  const auto skipped = steady_duration(plan, step, costs, 0);
  if (!skipped) return fail(skipped.error());
  const auto run = steady_duration(plan, step, costs, 1);
  if (!run) return fail(run.error());
  return GuardedSteps{probability, *skipped, *run};
}

Result<CostOrigin> weakest_origin(const Plan& plan, const FlatBody& body, const CostModel& costs) {
  CostOrigin weakest = CostOrigin::kMeasured;
  std::set<std::pair<ProcessorId, KernelId>> seen;
  for (const Instruction& instruction : body.list.instructions) {
    if (instruction.kind != InstructionKind::kLaunch) continue;
    const ProcessorId processor = plan.platform.at(instruction.queue).processor;
    if (!seen.insert({processor, instruction.kernel}).second) continue;
    const auto cost = costs.kernel(plan.platform.at(processor), plan.at(instruction.kernel));
    if (!cost) return fail(cost.error());
    weakest = std::max(weakest, cost->origin);
  }
  return weakest;
}

std::vector<QueueLoad> load_of_queues(const Plan& plan, const FlatBody& body, const Trace& trace, Nanoseconds step) {
  const std::vector<Nanoseconds> work = work_by_queue(plan, body, trace, steady_step(trace));
  const double span = static_cast<double>(std::max<std::int64_t>(1, step.count));
  std::vector<QueueLoad> loads;
  for (std::uint32_t q = 0; q < work.size(); ++q) {
    loads.push_back({QueueId(q), std::min(1.0, static_cast<double>(work[q].count) / span)});
  }
  std::stable_sort(loads.begin(), loads.end(), [](auto a, auto b) { return a.busy_fraction > b.busy_fraction; });
  return loads;
}

struct AllCosts {
  Trace trace;  ///< at median costs
  Nanoseconds low, high;
};

/// The three are simulated side by side.
Result<AllCosts> at_all_costs(const Plan& plan, const FlatBody& step, const CostModel& costs, const StepOdds& odds) {
  std::optional<Result<Trace>> trace;
  std::optional<Result<Nanoseconds>> low, high;
  const auto look = [&](std::size_t which) {
    const double often = usual(guard_probability(plan, odds));
    if (which == 0) trace = simulate(plan, step, costs, {.steps = kPredictedSteps, .guard_probability = often});
    if (which == 1) low = predict_step(plan, step, CostEdge(costs, CostEdge::kLow), odds);
    if (which == 2) high = predict_step(plan, step, CostEdge(costs, CostEdge::kHigh), odds);
  };
  parallel_for(3, look);
  if (!*trace) return fail(trace->error());
  if (!*low) return fail(low->error());
  if (!*high) return fail(high->error());
  return AllCosts{std::move(**trace), **low, **high};
}

}  // namespace

double guard_probability(const Plan& plan, const StepOdds& odds) {
  const double clips = plan.recipe.clip > 0 ? odds.clips : 0;
  if (plan.strategy.update_in_backward) return clips + odds.skips - clips * odds.skips;
  return 1 - odds.skips;  // an update that follows the norm takes place unless the step is skipped
}

Result<StepLimit> step_limit(const Plan& plan, const FlatBody& step, const CostModel& costs, const StepOdds& odds) {
  const double probability = guard_probability(plan, odds);
  const auto trace = simulate(plan, step, costs,
                              {.steps = kPredictedSteps, .guard_probability = usual(probability), .ledger = false});
  if (!trace) return fail(trace.error());
  const Nanoseconds steady = steady_duration(*trace);
  const QueueLoad busiest = load_of_queues(plan, step, *trace, steady).front();
  if (is_certain(step, probability)) return StepLimit{steady, busiest};
  const auto mean_step = predict_step(plan, step, costs, odds);
  if (!mean_step) return fail(mean_step.error());
  return StepLimit{*mean_step, busiest};
}

Result<Nanoseconds> predict_step(const Plan& plan, const CostModel& costs, const StepOdds& odds) {
  const Body* step = plan.body("step");
  if (step == nullptr) return fail({.kind = ErrorKind::kInput, .what = "the plan has no body named 'step'"});
  return predict_step(plan, expand(plan, *step), costs, odds);
}

Result<Nanoseconds> predict_step(const Plan& plan, const FlatBody& step, const CostModel& costs, const StepOdds& odds) {
  const double probability = guard_probability(plan, odds);
  if (is_certain(step, probability)) return steady_duration(plan, step, costs, probability);
  const auto steps = guarded_steps(plan, step, costs, probability);
  if (!steps) return fail(steps.error());
  return mean(*steps);
}

Result<Prediction> predict(const Plan& plan, const CostModel& costs, const StepOdds& odds) {
  const double probability = guard_probability(plan, odds);
  const Body* step = plan.body("step");
  if (step == nullptr) return fail({.kind = ErrorKind::kInput, .what = "the plan has no body named 'step'"});
  const FlatBody body = expand(plan, *step);
  auto edges = at_all_costs(plan, body, costs, odds);
  if (!edges) return fail(edges.error());
  const auto origin = weakest_origin(plan, body, costs);
  if (!origin) return fail(origin.error());
  Prediction prediction{.trace = std::move(edges->trace), .low = edges->low, .high = edges->high, .origin = *origin};
  const std::uint32_t steady = steady_step(prediction.trace);
  prediction.step = steady_duration(prediction.trace);
  const bool redoes = plan.strategy.update_in_backward;
  if (has_guards(body) && (redoes || probability < 1)) {
    const auto steps = guarded_steps(plan, body, costs, probability);
    if (!steps) return fail(steps.error());
    if (redoes) prediction.guarded = *steps;
    prediction.step = mean(*steps);
  }
  prediction.breakdown = break_down(plan, body, prediction.trace, steady);
  prediction.queues = load_of_queues(plan, body, prediction.trace, steady_duration(prediction.trace));
  return prediction;
}

}  // namespace plimsoll
