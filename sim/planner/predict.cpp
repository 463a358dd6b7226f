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

/// Both times; two steps in a row are taken to be alike.
Result<GuardedSteps> guarded_steps(const Plan& plan, const FlatBody& step, const CostModel& costs, double probability) {
  const auto skipped = steady_duration(plan, step, costs, 0);
  if (!skipped) return fail(skipped.error());
  const auto run = steady_duration(plan, step, costs, 1);
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
  const Body* step = plan.body("step");
  if (step == nullptr) return fail({.kind = ErrorKind::kInput, .what = "the plan has no body named 'step'"});
  return predict_step(plan, expand(plan, *step), costs, odds);
}

Result<Nanoseconds> predict_step(const Plan& plan, const FlatBody& step, const CostModel& costs, const StepOdds& odds) {
  const double probability = guard_probability(plan, odds);
  const bool certain = probability == 0 || probability == 1 || !has_guards(step);
  if (certain) return steady_duration(plan, step, costs, probability);
  const auto steps = guarded_steps(plan, step, costs, probability);
  if (!steps) return fail(steps.error());
  return mean(*steps);
}

Result<Prediction> predict(const Plan& plan, const CostModel& costs, const StepOdds& odds) {
  const double probability = guard_probability(plan, odds);
  const Body* step = plan.body("step");
  if (step == nullptr) return fail({.kind = ErrorKind::kInput, .what = "the plan has no body named 'step'"});
  auto trace = simulate(plan, "step", costs, {.steps = kPredictedSteps, .guard_probability = usual(probability)});
  if (!trace) return fail(trace.error());
  const FlatBody body = expand(plan, *step);
  const auto low = predict_step(plan, body, CostEdge(costs, CostEdge::kLow), odds);
  if (!low) return fail(low.error());
  const auto high = predict_step(plan, body, CostEdge(costs, CostEdge::kHigh), odds);
  if (!high) return fail(high.error());
  const auto origin = weakest_origin(plan, costs);
  if (!origin) return fail(origin.error());
  Prediction prediction{.trace = std::move(*trace), .low = *low, .high = *high, .origin = *origin};
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
