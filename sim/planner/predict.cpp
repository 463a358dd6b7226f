#include "sim/planner/predict.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/plan/expand.h"
#include "sim/cost/cost_edge.h"
#include "sim/des/simulate.h"

namespace plimsoll {
namespace {

Nanoseconds steady_duration(const Trace& trace) { return trace.steps[steady_step(trace)].duration(); }

Result<Nanoseconds> steady_duration(const Plan& plan, const CostModel& costs, double guard_probability) {
  const SimulateOptions options{.steps = kPredictedSteps, .guard_probability = guard_probability, .keep_events = false};
  const auto trace = simulate(plan, "step", costs, options);
  if (!trace) return fail(trace.error());
  return steady_duration(*trace);
}

bool has_guards(const Plan& plan) {
  for (const Call& call : plan.body("step")->calls) {
    const auto& instructions = plan.at(call.block).list.instructions;
    const bool guarded = std::any_of(instructions.begin(), instructions.end(),
                                     [](const Instruction& instruction) { return instruction.guard != kNoGuard; });
    if (guarded) return true;
  }
  return false;
}

/// What most steps do.
double usual(double guard_probability) { return guard_probability < 0.5 ? 0 : 1; }

/// The mean over steps of which each finds its flags set with that probability.
Nanoseconds mean(const GuardedSteps& steps) {
  const double more = steps.probability * static_cast<double>((steps.run - steps.skipped).count);
  return steps.skipped + Nanoseconds(std::llround(more));
}

/// Both times; two steps in a row are taken to be alike.
Result<GuardedSteps> guarded_steps(const Plan& plan, const CostModel& costs, double probability) {
  const auto skipped = steady_duration(plan, costs, 0);
  if (!skipped) return fail(skipped.error());
  const auto run = steady_duration(plan, costs, 1);
  if (!run) return fail(run.error());
  return GuardedSteps{probability, *skipped, *run};
}

Result<CostOrigin> weakest_origin(const Plan& plan, const CostModel& costs) {
  CostOrigin weakest = CostOrigin::kMeasured;
  const FlatBody body = expand(plan, *plan.body("step"));
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

}  // namespace

double guard_probability(const Plan& plan, const StepOdds& odds) {
  const double clips = plan.recipe.clip > 0 ? odds.clips : 0;
  if (plan.strategy.update_in_backward) return clips + odds.skips - clips * odds.skips;
  return 1 - odds.skips;  // an update that follows the norm takes place unless the step is skipped
}

Result<StepLimit> step_limit(const Plan& plan, const CostModel& costs, const StepOdds& odds) {
  const Body* step = plan.body("step");
  if (step == nullptr) return fail({.kind = ErrorKind::kInput, .what = "the plan has no body named 'step'"});
  const SimulateOptions options{.steps = kPredictedSteps, .guard_probability = usual(guard_probability(plan, odds))};
  const auto trace = simulate(plan, "step", costs, options);
  if (!trace) return fail(trace.error());
  const auto mean_step = predict_step(plan, costs, odds);
  if (!mean_step) return fail(mean_step.error());
  return StepLimit{*mean_step, load_of_queues(plan, expand(plan, *step), *trace, steady_duration(*trace)).front()};
}

Result<Nanoseconds> predict_step(const Plan& plan, const CostModel& costs, const StepOdds& odds) {
  const double probability = guard_probability(plan, odds);
  const bool certain = probability == 0 || probability == 1 || !has_guards(plan);
  if (certain) return steady_duration(plan, costs, probability);
  const auto steps = guarded_steps(plan, costs, probability);
  if (!steps) return fail(steps.error());
  return mean(*steps);
}

Result<Prediction> predict(const Plan& plan, const CostModel& costs, const StepOdds& odds) {
  const double probability = guard_probability(plan, odds);
  const Body* step = plan.body("step");
  if (step == nullptr) return fail({.kind = ErrorKind::kInput, .what = "the plan has no body named 'step'"});
  auto trace = simulate(plan, "step", costs, {.steps = kPredictedSteps, .guard_probability = usual(probability)});
  if (!trace) return fail(trace.error());
  const auto low = predict_step(plan, CostEdge(costs, CostEdge::kLow), odds);
  if (!low) return fail(low.error());
  const auto high = predict_step(plan, CostEdge(costs, CostEdge::kHigh), odds);
  if (!high) return fail(high.error());
  const auto origin = weakest_origin(plan, costs);
  if (!origin) return fail(origin.error());
  Prediction prediction{.trace = std::move(*trace), .low = *low, .high = *high, .origin = *origin};
  const FlatBody body = expand(plan, *step);
  const std::uint32_t steady = steady_step(prediction.trace);
  prediction.step = steady_duration(prediction.trace);
  const bool redoes = plan.strategy.update_in_backward;
  if (has_guards(plan) && (redoes || probability < 1)) {
    const auto steps = guarded_steps(plan, costs, probability);
    if (!steps) return fail(steps.error());
    if (redoes) prediction.guarded = *steps;
    prediction.step = mean(*steps);
  }
  prediction.breakdown = break_down(plan, body, prediction.trace, steady);
  prediction.queues = load_of_queues(plan, body, prediction.trace, steady_duration(prediction.trace));
  return prediction;
}

}  // namespace plimsoll
