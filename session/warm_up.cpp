#include "session/warm_up.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/plan/expand.h"
#include "core/plan/verify_plan.h"
#include "formats/plans/plan_json.h"
#include "sim/sampling/samples_from_trace.h"

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

bool device_updates(const RunRequest& request) {
  return request.backend == Backend::kCuda && request.recipe.optimizer == OptimizerKind::kMuon;
}

namespace {

/// What all spaces lack together.
Bytes missing(const std::vector<SpaceNeed>& needs) {
  Bytes sum;
  for (const SpaceNeed& need : needs) sum += need.fits() ? Bytes(0) : need.needed - need.usable;
  return sum;
}

/// The machine that the run's plan will be for, under the caps of this one.
Platform machine_of(const RunRequest& request) {
  if (!request.plan) return request.machine;
  Platform machine = request.plan->platform;
  for (MemorySpace& space : machine.spaces) {
    const auto own = request.machine.space(space.kind);
    if (own) space.usable = std::min(space.usable, request.machine.at(*own).usable);
  }
  return machine;
}

/// The one that moves less is tried first.
std::vector<Strategy> strategies_on_drive() {
  constexpr std::pair<Tier, Tier> kPlaces[] = {{Tier::kDevice, Tier::kHost}, {Tier::kSsd, Tier::kHost}, {Tier::kSsd, Tier::kSsd}};
  std::vector<Strategy> choices;
  for (const auto& [parameters, gradients] : kPlaces) {
    Strategy on_drive = warm_up_strategy();
    on_drive.parameters = parameters;
    on_drive.optimizer = Tier::kSsd;
    on_drive.gradients = gradients;
    choices.push_back(on_drive);
  }
  return choices;
}

/// The more on the device the later it is tried: that is for where the host is the smaller of the two.
std::vector<Strategy> strategies_in_memory() {
  std::vector<Strategy> choices{warm_up_strategy()};
  for (const Tier optimizer : {Tier::kHost, Tier::kDevice}) {
    Strategy on_device = warm_up_strategy();
    on_device.parameters = Tier::kDevice;
    on_device.optimizer = optimizer;
    on_device.gradients = optimizer;
    choices.push_back(on_device);
  }
  return choices;
}

/// Whether what will run may be bound to the drive: a search that is free to choose goes there only where memory is short.
bool asks_for_drive(const RunRequest& request) {
  if (request.plan) return request.plan->arena_bytes(*request.plan->platform.space(SpaceKind::kSsd)).count > 0;
  if (!request.exact_strategy) return request.strategy != "auto";
  const Strategy& asked = *request.exact_strategy;
  return asked.parameters == Tier::kSsd || asked.optimizer == Tier::kSsd || asked.gradients == Tier::kSsd || asked.activations == Tier::kSsd;
}

/// What will run on the drive is sampled there. Else memory comes first: beside a drive's traffic a processor works slower than without,
/// and a GPU idles most of the step, so that ten plans without a drive were told 4.6 % off, and 1.3 % from memory (an H100,
/// docs/gpu-checks.md).
std::vector<Strategy> cautious_strategies(const RunRequest& request, const Platform& machine) {
  std::vector<Strategy> choices = strategies_in_memory();
  const std::vector<Strategy> on_drive = strategies_on_drive();
  if (machine.space(SpaceKind::kSsd)) choices.insert(asks_for_drive(request) ? choices.begin() : choices.end(), on_drive.begin(), on_drive.end());
  for (Strategy& choice : choices) {
    if (device_updates(request) && choice.optimizer != Tier::kDevice) choice.device_update_blocks = request.spec.blocks();
  }
  return choices;
}

/// How often the gradient was longer than the recipe allows.
double clipped_fraction(const Recipe& recipe, const std::vector<StepSummary>& steps) {
  if (recipe.clip == 0 || steps.empty()) return 0;
  const auto clipped = std::count_if(steps.begin(), steps.end(),
                                     [&](const StepSummary& step) { return step.gradient_norm > recipe.clip; });
  return static_cast<double>(clipped) / static_cast<double>(steps.size());
}

/// The first steps may look for a scale and are no measure; one that was found grows too large once in `interval` steps.
double skipped_fraction(const Recipe& recipe) {
  if (!scales_loss(recipe.precision) || recipe.loss_scaling.interval == 0) return 0;
  return 1.0 / static_cast<double>(recipe.loss_scaling.interval + 1);
}

/// Where a training fits only when its states are divided over all memories: what a search finds under the request's costs.
std::optional<Plan> divided_plan(const RunRequest& request, const Platform& machine) {
  if (request.costs == nullptr) return std::nullopt;
  auto search = search_plan(request.spec, request.recipe, machine, *request.costs, {.evaluation = !request.evaluation_data.empty(), .device_updates = device_updates(request)});
  if (!search || !search->plan || !verify_plan(*search->plan)) return std::nullopt;
  return std::move(search->plan);
}

}  // namespace

std::int64_t warm_up_share(const RunRequest& request, std::int64_t first_step) {
  constexpr std::int64_t kLeast = 2;
  const std::int64_t left = request.schedule.end_step - first_step;
  const std::int64_t share = std::min(request.warm_up_steps, std::max(kLeast, left / 2));
  return share < kLeast || share >= left ? 0 : share;
}

Result<Plan> cautious_plan(const RunRequest& request) {
  const Platform machine = machine_of(request);
  const LowerOptions options{.evaluation = !request.evaluation_data.empty()};
  std::vector<SpaceNeed> nearest;
  for (const Strategy& strategy : cautious_strategies(request, machine)) {
    auto plan = lower_to_plan(request.spec, request.recipe, machine, strategy, options);
    if (!plan) return plan;
    std::vector<SpaceNeed> needs = space_needs(*plan);
    if (missing(needs) == Bytes(0)) {
      if (const auto verified = verify_plan(*plan); !verified) return fail(verified.error());
      return plan;
    }
    if (nearest.empty() || missing(needs) < missing(nearest)) nearest = std::move(needs);
  }
  if (auto divided = divided_plan(request, machine)) return std::move(*divided);
  return fail(does_not_fit("even the smallest plan", machine, nearest));
}

WarmUp learn(Plan plan, Trace trace, std::shared_ptr<const CostModel> fallback) {
  const FlatBody body = expand(plan, *plan.body("step"));
  auto samples = samples_from_trace(plan, body, trace);
  Calibration calibration = calibrate(samples, std::move(fallback));
  const StepOdds odds{.clips = clipped_fraction(plan.recipe, trace.steps), .skips = skipped_fraction(plan.recipe)};
  return {std::move(plan), std::move(trace), std::move(samples), std::move(calibration), odds};
}

Result<WarmUp> warm_up(const RunRequest& request, const BatchSource& batches, const std::atomic<bool>& stop) {
  auto plan = cautious_plan(request);
  if (!plan) return fail(plan.error());
  auto executor = open_executor(request.backend, *plan, drive_of(request), request.device_graphs);
  if (!executor) return fail(executor.error());
  (*executor)->initialize();
  auto trace = (*executor)->run_steps({.first_step = 0, .steps = request.warm_up_steps, .stop = &stop}, batches);
  if (!trace) return fail(trace.error());
  trace->plan_digest = plan_digest(*plan);
  return learn(std::move(*plan), std::move(*trace), request.costs);
}

}  // namespace plimsoll
