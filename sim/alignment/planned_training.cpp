#include "sim/alignment/planned_training.h"

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

}  // namespace plimsoll
