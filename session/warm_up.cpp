#include "session/warm_up.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/plan/expand.h"
#include "core/plan/verify_plan.h"
#include "formats/plans/plan_json.h"
#include "sim/cost/samples_from_trace.h"
#include "sim/memory/ledger.h"

namespace plimsoll {

Strategy warm_up_strategy() {
  return {.name = "warm-up",
          .recompute_every = 1,
          .parameters = Tier::kHost,
          .optimizer = Tier::kHost,
          .gradients = Tier::kHost,
          .staging_slots = 1,
          .overlap = false};
}

Error does_not_fit(const std::string& what, const Platform& platform, const std::vector<SpaceNeed>& needs) {
  std::string text;
  for (const SpaceNeed& need : needs) {
    if (need.fits()) continue;
    text += fmt::format("{}{} needs {}, usable {}, short by {}", text.empty() ? "" : "; ", platform.at(need.space).name,
                        to_text(need.needed), to_text(need.usable), to_text(need.needed - need.usable));
  }
  return {.kind = ErrorKind::kInfeasible,
          .what = fmt::format("{} does not fit: {}", what, text),
          .where = {},
          .remedy = "raise --device-memory or --ram, or use a smaller --batch, --seq or model"};
}

namespace {

/// The cautious plan; on a machine with a drive, one that keeps states there, so that the drive is sampled too. Of
/// those that do, the one that moves less is tried first; when none fits, the one in memory alone is all there is.
Result<Plan> cautious_plan(const RunRequest& request) {
  std::vector<Strategy> choices;
  if (request.machine.space(SpaceKind::kSsd)) {
    for (const Tier parameters : {Tier::kDevice, Tier::kSsd}) {
      Strategy on_drive = warm_up_strategy();
      on_drive.parameters = parameters;
      on_drive.optimizer = Tier::kSsd;
      choices.push_back(on_drive);
    }
  }
  choices.push_back(warm_up_strategy());
  std::vector<SpaceNeed> needs;
  for (const Strategy& strategy : choices) {
    auto plan = lower_to_plan(request.spec, request.recipe, request.machine, strategy);
    if (!plan) return plan;
    needs = space_needs(*plan);
    if (std::all_of(needs.begin(), needs.end(), [](const SpaceNeed& need) { return need.fits(); })) return plan;
  }
  return fail(does_not_fit("even the smallest plan", request.machine, needs));
}

}  // namespace

Result<WarmUp> warm_up(const RunRequest& request, const TokenSource& tokens, const std::atomic<bool>& stop) {
  auto plan = cautious_plan(request);
  if (!plan) return fail(plan.error());
  if (const auto verified = verify_plan(*plan); !verified) return fail(verified.error());
  auto executor = CpuExecutor::create(*plan, {.backend = "cpu", .drive = request.drive});
  if (!executor) return fail(executor.error());
  (*executor)->initialize();
  auto trace = (*executor)->run_steps({.first_step = 0, .steps = request.warm_up_steps, .stop = &stop}, tokens);
  if (!trace) return fail(trace.error());
  const FlatBody body = expand(*plan, *plan->body("step"));
  trace->plan_digest = plan_digest(*plan);
  trace->peaks = memory_peaks(*plan, memory_ledger_of_run(*plan, body, *trace));
  auto samples = samples_from_trace(*plan, body, *trace);
  Calibration calibration = calibrate(samples, request.costs);
  return WarmUp{std::move(*plan), trace->plan_digest, std::move(*trace), std::move(samples), std::move(calibration)};
}

}  // namespace plimsoll
