#include "session/change_plan.h"

#include <fmt/format.h>

#include "formats/plans/plan_json.h"
#include "sim/des/simulate.h"

namespace plimsoll {

Result<PlanChange> plan_change(const Plan& old, const Plan& next, std::int64_t steps_done, const CostModel& costs) {
  auto migration = migrate_plan(old, next, steps_done);
  if (!migration) return fail(migration.error());
  PlanChange change{.migration = std::move(*migration), .predicted = {}};
  if (change.migration.moved.count == 0) return change;
  auto predicted = simulate(change.migration.plan, kMigrateBody, costs, {.steps = 1});
  if (!predicted) return fail(predicted.error());
  change.predicted = std::move(*predicted);
  change.predicted.plan_digest = plan_digest(change.migration.plan);
  return change;
}

std::string to_text(const ChangedPlan& changed) {
  if (changed.moved.count == 0) {
    return fmt::format("after {} steps the chosen plan goes on; nothing had to move", changed.after_steps);
  }
  return fmt::format("moved {} to the layout of the chosen plan after {} steps: predicted {}, measured {}",
                     to_text(changed.moved), changed.after_steps, to_text(changed.predicted), to_text(changed.measured));
}

}  // namespace plimsoll
