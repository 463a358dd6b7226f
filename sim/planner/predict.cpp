#include "sim/planner/predict.h"

#include <algorithm>
#include <set>

#include "core/plan/expand.h"
#include "sim/cost/cost_edge.h"
#include "sim/des/simulate.h"

namespace plimsoll {
namespace {

Result<Nanoseconds> steady_duration(const Plan& plan, const CostModel& costs) {
  const auto trace = simulate(plan, "step", costs, {.steps = kPredictedSteps, .keep_events = false});
  if (!trace) return fail(trace.error());
  return trace->steps[steady_step(*trace)].duration();
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

Result<StepLimit> step_limit(const Plan& plan, const CostModel& costs) {
  const Body* step = plan.body("step");
  if (step == nullptr) return fail({.kind = ErrorKind::kInput, .what = "the plan has no body named 'step'"});
  const auto trace = simulate(plan, "step", costs, {.steps = kPredictedSteps});
  if (!trace) return fail(trace.error());
  const Nanoseconds duration = trace->steps[steady_step(*trace)].duration();
  return StepLimit{duration, load_of_queues(plan, expand(plan, *step), *trace, duration).front()};
}

Result<Prediction> predict(const Plan& plan, const CostModel& costs) {
  const Body* step = plan.body("step");
  if (step == nullptr) return fail({.kind = ErrorKind::kInput, .what = "the plan has no body named 'step'"});
  auto trace = simulate(plan, "step", costs, {.steps = kPredictedSteps});
  if (!trace) return fail(trace.error());
  const auto low = steady_duration(plan, CostEdge(costs, CostEdge::kLow));
  if (!low) return fail(low.error());
  const auto high = steady_duration(plan, CostEdge(costs, CostEdge::kHigh));
  if (!high) return fail(high.error());
  const auto origin = weakest_origin(plan, costs);
  if (!origin) return fail(origin.error());
  Prediction prediction{.trace = std::move(*trace), .low = *low, .high = *high, .origin = *origin};
  const FlatBody body = expand(plan, *step);
  const std::uint32_t steady = steady_step(prediction.trace);
  prediction.step = prediction.trace.steps[steady].duration();
  prediction.breakdown = break_down(plan, body, prediction.trace, steady);
  prediction.queues = load_of_queues(plan, body, prediction.trace, prediction.step);
  return prediction;
}

}  // namespace plimsoll
