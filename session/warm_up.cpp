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

namespace {

/// A size that the options take and that holds at least so much.
std::string option_size(Bytes bytes) { return fmt::format("{}MiB", (bytes.count + kMiB.count - 1) / kMiB.count); }

/// What can be done: divide the same memory otherwise where that helps, else get more or want less.
std::string remedy_for(const Platform& platform, const std::vector<SpaceNeed>& needs) {
  Bytes needed, usable;
  std::string memory, drive;
  bool short_of_memory = false;
  for (const SpaceNeed& need : needs) {
    const SpaceKind kind = platform.at(need.space).kind;
    if (kind == SpaceKind::kSsd) {
      if (!need.fits()) drive = "free room on the drive or give more of it with --ssd";
      continue;
    }
    needed += need.needed;
    usable += need.usable;
    short_of_memory = short_of_memory || !need.fits();
    const char* option = kind == SpaceKind::kDevice ? "--device-memory" : "--ram";
    memory += fmt::format("{}{} {}", memory.empty() ? "" : " ", option, option_size(need.needed));
  }
  if (!short_of_memory) return drive;
  memory = needed < usable ? memory + " would fit into the same memory"
                           : fmt::format("together {} of memory are needed and {} usable: raise --device-memory or --ram, "
                                         "or use a smaller --batch, --seq or model",
                                         to_text(needed), to_text(usable));
  if (!platform.space(SpaceKind::kSsd)) drive = "states may go to a drive with --ssd SIZE";
  return drive.empty() ? memory : memory + "; " + drive;
}

}  // namespace

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
          .remedy = remedy_for(platform, needs)};
}

namespace {

/// What all spaces lack together.
Bytes missing(const std::vector<SpaceNeed>& needs) {
  Bytes sum;
  for (const SpaceNeed& need : needs) sum += need.fits() ? Bytes(0) : need.needed - need.usable;
  return sum;
}

/// The cautious plan; on a machine with a drive, one that keeps states there, so that the drive is sampled too. Of
/// those that do, the one that moves less is tried first; when none fits, one in memory alone, the more on the device the
/// later it is tried.
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
  for (const Tier optimizer : {Tier::kHost, Tier::kDevice}) {  // where the host is the smaller of the two
    Strategy on_device = warm_up_strategy();
    on_device.parameters = Tier::kDevice;
    on_device.optimizer = optimizer;
    on_device.gradients = optimizer;
    choices.push_back(on_device);
  }
  std::vector<SpaceNeed> nearest;
  for (const Strategy& strategy : choices) {
    auto plan = lower_to_plan(request.spec, request.recipe, request.machine, strategy);
    if (!plan) return plan;
    std::vector<SpaceNeed> needs = space_needs(*plan);
    if (missing(needs) == Bytes(0)) return plan;
    if (nearest.empty() || missing(needs) < missing(nearest)) nearest = std::move(needs);
  }
  return fail(does_not_fit("even the smallest plan", request.machine, nearest));
}

/// How often the gradient was longer than the recipe allows.
double clipped_fraction(const Recipe& recipe, const std::vector<StepSummary>& steps) {
  if (recipe.clip == 0 || steps.empty()) return 0;
  const auto clipped = std::count_if(steps.begin(), steps.end(),
                                     [&](const StepSummary& step) { return step.gradient_norm > recipe.clip; });
  return static_cast<double>(clipped) / static_cast<double>(steps.size());
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
  const double clipped = clipped_fraction(request.recipe, trace->steps);
  return WarmUp{std::move(*plan),   trace->plan_digest,     std::move(*trace),
                std::move(samples), std::move(calibration), clipped};
}

}  // namespace plimsoll
