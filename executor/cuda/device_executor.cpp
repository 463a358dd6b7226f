#include "executor/cuda/device_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "core/plan/verify_plan.h"
#include "executor/cpu/check_runnable.h"
#include "executor/cpu/over_pieces.h"
#include "executor/cuda/check_device_plan.h"
#include "executor/cuda/loaded_device_plan.h"
#include "executor/data/counter_random.h"
#include "executor/held_out.h"

namespace plimsoll {
namespace {

/// Evaluation draws other windows than training does, from whatever corpus it is given; the same as the CPU backend's.
constexpr std::uint64_t kEvaluationStream = 0x65766175;  // "evau"

tl::unexpected<Error> bad(std::string what, std::string remedy = {}) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = std::move(remedy)});
}

bool keeps_versions(const Plan& plan) {
  return std::any_of(plan.state.begin(), plan.state.end(),
                     [&](const StateBinding& binding) { return plan.at(binding.buffer).slots > 1; });
}

Result<void> check_rank(const Plan& plan, const DeviceOptions& options) {
  const std::uint32_t rank = options.links == nullptr ? 0 : options.links->rank();
  const std::uint32_t ranks = options.links == nullptr ? 1 : options.links->ranks();
  if (plan.rank == rank && plan.ranks == ranks) return {};
  return bad(fmt::format("the plan is of rank {} of {}, and this process is rank {} of {}", plan.rank, plan.ranks, rank, ranks),
             fmt::format("start {} processes, one a GPU", plan.ranks));
}

Result<void> check(const Plan& plan) {
  if (auto verified = verify_plan(plan); !verified) return fail(verified.error());
  return check_device_plan(plan);
}

/// A state on its way from one plan to another.
struct CarriedState {
  TensorKind kind;
  GroupId group;
  std::unique_ptr<HostArena> bytes;
};

}  // namespace

struct DeviceExecutor::Impl {
  Impl(const Plan& plan, std::shared_ptr<Device> where, const DeviceOptions& how)
      : device(std::move(where)), options(how), loaded(std::make_unique<LoadedDevicePlan>(plan, device, options)) {}

  [[nodiscard]] const Plan& plan() const { return loaded->plan; }

  [[nodiscard]] Result<void> check_goes_on(const RunSegment& segment) const {
    if (!steps_done || *steps_done == segment.first_step || !keeps_versions(plan())) return {};
    return bad("the states are those of other steps than the segment begins with",
               "go on where the last segment ended, or set the states anew");
  }

  LaneRecord run(const Program& program, const RunSegment& segment, const BatchSource& batches, std::uint64_t seed) {
    const auto with_rate = [this](StepSummary summary) {
      summary.learning_rate = learning_rate_at(plan().recipe, summary.step);
      return summary;
    };
    RunSegment rated = segment;
    if (segment.on_step) rated.on_step = [&](const StepSummary& summary) { segment.on_step(with_rate(summary)); };
    const TokenSource* masked = batches.masked_tokens();
    std::optional<CountedTargets> targets;
    if (masked != nullptr) targets.emplace(*masked, batch_rows(plan(), program, seed));
    const ExecutionContext context{plan(), program, loaded->pool, loaded->product, batches, seed,
                                   targets ? &*targets : nullptr, options.transport};
    LaneRecord record = DeviceRun(loaded->queues, context, rated, options.jitter_seed, graphs_for(program, targets.has_value())).run();
    for (StepSummary& summary : record.steps) summary = with_rate(summary);
    return record;
  }

  /// They are of the step's own program; where not all targets count, each step's losses are told how many do.
  [[nodiscard]] const DeviceGraphs* graphs_for(const Program& program, bool counts_targets) const {
    return &program == &loaded->step && !counts_targets ? &loaded->graphs : nullptr;
  }

  [[nodiscard]] std::vector<CarriedState> take_states() const {
    std::vector<CarriedState> states;
    for (const StateBinding& binding : plan().state) {
      if (loaded->find_kept(binding.kind, binding.group) != &binding) continue;  // a copy that is published again
      const std::span<const std::byte> bytes = loaded->states.read(binding, steps_done.value_or(0));
      auto kept = std::make_unique<HostArena>(Bytes(static_cast<std::int64_t>(bytes.size())));
      copy_in_pieces(bytes, {kept->data(), bytes.size()});
      states.push_back({binding.kind, binding.group, std::move(kept)});
    }
    return states;
  }

  void put_states(const std::vector<CarriedState>& states) const {
    for (const CarriedState& state : states) {
      loaded->set(state.kind, state.group, [&](std::span<std::byte> place) {
        copy_in_pieces({state.bytes->data(), place.size()}, place);
      });
    }
  }

  std::shared_ptr<Device> device;
  const DeviceOptions options;
  std::unique_ptr<LoadedDevicePlan> loaded;
  std::optional<std::int64_t> steps_done;  ///< nothing: every version of the states holds the same
};

DeviceExecutor::DeviceExecutor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DeviceExecutor::~DeviceExecutor() = default;

Result<std::unique_ptr<DeviceExecutor>> DeviceExecutor::create(const Plan& plan, std::shared_ptr<Device> device,
                                                               const DeviceOptions& options) {
  if (auto good = check(plan); !good) return fail(good.error());
  if (auto own = check_rank(plan, options); !own) return fail(own.error());
  try {
    return std::unique_ptr<DeviceExecutor>(new DeviceExecutor(std::make_unique<Impl>(plan, std::move(device), options)));
  } catch (const EnvironmentError& error) {
    return fail(error.error());
  }
}

void DeviceExecutor::initialize() {
  impl_->steps_done.reset();
  impl_->loaded->initialize();
}

std::span<const std::byte> DeviceExecutor::state(TensorKind kind, GroupId group) const {
  const StateBinding* kept = impl_->loaded->find_kept(kind, group);
  return kept == nullptr ? std::span<const std::byte>() : impl_->loaded->states.read(*kept, impl_->steps_done.value_or(0));
}

void DeviceExecutor::set_state(TensorKind kind, GroupId group, const std::function<void(std::span<std::byte>)>& fill) {
  impl_->loaded->set(kind, group, fill);
}

Result<Trace> DeviceExecutor::run_steps(const RunSegment& segment, const BatchSource& batches) {
  if (segment.first_step < 0 || segment.steps < 0) return bad("a segment cannot start or last below zero steps");
  if (auto fits = batches.check(impl_->plan().spec, impl_->plan().recipe); !fits) return fail(fits.error());
  if (auto next = impl_->check_goes_on(segment); !next) return fail(next.error());
  LaneRecord record = impl_->run(impl_->loaded->step, segment, batches, impl_->plan().recipe.seed);
  if (!record.steps.empty()) impl_->steps_done = segment.first_step + static_cast<std::int64_t>(record.steps.size());
  return Trace{.kind = TraceKind::kMeasured,
               .plan_digest = {},
               .source = impl_->loaded->source,
               .calibrated_from = {},
               .marking = impl_->loaded->queues.event_cost.within + impl_->loaded->queues.event_cost.between,
               .events = std::move(record.events),
               .steps = std::move(record.steps),
               .peaks = touched()};
}

Result<HeldOut> DeviceExecutor::evaluate(const BatchSource& batches, std::int64_t count) {
  if (!impl_->loaded->evaluation) return bad("the plan has no evaluation body");
  if (count <= 0) return bad("an evaluation needs at least one batch");
  if (auto fits = batches.check(impl_->plan().spec, impl_->plan().recipe); !fits) return fail(fits.error());
  const Program program = at_versions_of(impl_->plan(), *impl_->loaded->evaluation, impl_->steps_done.value_or(0));
  const std::uint64_t seed = random_at(impl_->plan().recipe.seed, kEvaluationStream);
  const RunSegment segment{.first_step = 0, .steps = count, .first_traced_step = std::numeric_limits<std::int64_t>::max()};
  const LaneRecord record = impl_->run(program, segment, batches, seed);
  std::optional<CountedTargets> targets;
  if (batches.masked_tokens() != nullptr) targets.emplace(*batches.masked_tokens(), batch_rows(impl_->plan(), program, seed));
  return mean_of(record.steps, [&](std::int64_t step) { return targets ? static_cast<double>(targets->of_step(step)) : 1.0; });
}

Result<Trace> DeviceExecutor::migrate(const Plan& migration, const Plan& next) {
  if (auto good = check(next); !good) return fail(good.error());
  if (auto joins = check_migration(migration, impl_->plan(), next); !joins) return fail(joins.error());
  const auto start = std::chrono::steady_clock::now();
  const std::vector<CarriedState> states = impl_->take_states();
  const Plan old = impl_->plan();
  impl_->loaded.reset();
  try {
    impl_->loaded = std::make_unique<LoadedDevicePlan>(next, impl_->device, impl_->options);
  } catch (const EnvironmentError& error) {
    impl_->loaded = std::make_unique<LoadedDevicePlan>(old, impl_->device, impl_->options);
    impl_->put_states(states);
    return fail(error.error());
  }
  impl_->put_states(states);
  Trace trace{.kind = TraceKind::kMeasured, .source = impl_->loaded->source};
  StepSummary whole;
  whole.end = Nanoseconds(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count());
  trace.steps.push_back(whole);
  return trace;
}

const std::string& DeviceExecutor::source() const { return impl_->loaded->source; }

std::vector<RunWarning> DeviceExecutor::take_warnings() {
  std::vector<RunWarning> warnings;
  for (Drive* drive : impl_->loaded->arenas.host().drives()) {
    if (auto slow = drive->take_slowness()) warnings.push_back(std::move(*slow));
  }
  return warnings;
}

std::vector<SpacePeak> DeviceExecutor::touched() const {
  const LoadedDevicePlan& loaded = *impl_->loaded;
  std::vector<SpacePeak> peaks;
  for (const Arena& arena : loaded.plan.arenas) {
    const bool known = loaded.arenas.device_memory(arena.space) == nullptr &&
                       (impl_->options.canary || loaded.arenas.host().drive(arena.space) != nullptr);
    const Bytes bytes = known ? loaded.arenas.host().touched(arena.space) : arena.bytes;
    peaks.push_back({.space = arena.space, .bytes = bytes, .by_category = {}});
  }
  return peaks;
}

Bytes DeviceExecutor::reserved_beside() const { return impl_->loaded->arenas.reserved_beside(); }

}  // namespace plimsoll
