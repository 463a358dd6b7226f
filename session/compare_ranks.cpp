#include "session/compare_ranks.h"

#include <algorithm>

#include "core/plan/expand.h"
#include "sim/cost/calibrate.h"
#include "sim/planner/ranks/exchange_samples.h"
#include "sim/planner/ranks/job_plan.h"
#include "sim/sampling/samples_from_trace.h"

namespace plimsoll {
namespace {

constexpr std::uint32_t kSimulatedSteps = 4;

/// A run that goes on from a checkpoint begins with a later step.
std::vector<Trace> from_step_zero(std::span<const Trace> traces) {
  std::vector<Trace> moved(traces.begin(), traces.end());
  for (Trace& trace : moved) {
    const std::uint32_t first = trace.steps.empty() ? 0 : trace.steps.front().step;
    for (TraceEvent& event : trace.events) event.step -= first;
    for (StepSummary& step : trace.steps) step.step -= first;
  }
  return moved;
}

std::vector<Trace> first_steps(std::span<const Trace> traces, std::uint32_t count) {
  std::vector<Trace> early(traces.begin(), traces.end());
  for (Trace& trace : early) {
    std::erase_if(trace.events, [&](const TraceEvent& event) { return event.step >= count; });
    std::erase_if(trace.steps, [&](const StepSummary& step) { return step.step >= count; });
  }
  return early;
}

Result<std::shared_ptr<const CostModel>> calibrated(const MeasuredRanks& measured, std::span<const Trace> early) {
  auto samples = exchange_samples(measured.plans, early);
  if (!samples) return fail(samples.error());
  for (std::size_t rank = 0; rank < measured.plans.size(); ++rank) {
    const Plan& plan = measured.plans[rank];
    const auto found = samples_from_trace(plan, expand(plan, *plan.body("step")), early[rank]);
    samples->insert(samples->end(), found.begin(), found.end());
  }
  return calibrate(*samples, measured.costs).model;
}

}  // namespace

Result<RanksComparison> compare_ranks(const MeasuredRanks& measured) {
  RanksComparison result;
  const std::uint32_t traced = measured.traced;
  if (traced < 2) return result;
  const std::uint32_t share = std::min(measured.warm_up, traced / 2);
  const std::uint32_t warm = share < 2 ? 0 : share;
  const std::vector<Trace> traces = from_step_zero(measured.traces);
  std::shared_ptr<const CostModel> costs = measured.costs;
  if (warm > 0 && !measured.waits) {
    auto learned = calibrated(measured, first_steps(traces, warm));
    if (!learned) return fail(learned.error());
    costs = std::move(*learned);
  }
  std::vector<Plan> plans(measured.plans.begin(), measured.plans.end());
  for (Plan& plan : plans) {  // who sleeps shares no core and no memory
    for (Resource& resource : plan.platform.resources) resource.capacity *= measured.waits ? 1e6 : 1;
  }
  auto simulated = simulate_ranks(plans, *costs, kSimulatedSteps);
  if (!simulated) return fail(simulated.error());
  const std::uint32_t first = std::max(1u, warm);
  result.calibration = costs->source();
  result.step_predicted = step_of(simulated->ranks, 1, kSimulatedSteps - 1);
  result.bubble_predicted = bubble_of(measured.plans, simulated->ranks, 1, kSimulatedSteps - 1);
  result.step_measured = step_of(traces, first, traced - 1);
  result.bubble_measured = bubble_of(measured.plans, traces, first, traced - 1);
  result.predicted = std::move(simulated->ranks);
  return result;
}

}  // namespace plimsoll
