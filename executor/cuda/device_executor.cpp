#include "executor/cuda/device_executor.h"

#include <fmt/format.h>

#include <chrono>

#include "core/plan/verify_plan.h"
#include "executor/cpu/check_runnable.h"
#include "executor/cpu/kept_state.h"
#include "executor/cpu/segment_run.h"
#include "executor/cuda/check_device_plan.h"
#include "executor/cuda/loaded_device_plan.h"
#include "executor/data/no_batches.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> bad(std::string what, std::string remedy = {}) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = std::move(remedy)});
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

/// Before anything is reserved: on a machine whose drive reaches the device, a small file is opened by that way and let go.
void try_direct_storage(const Platform& platform, Device& device, const std::string& folder) {
  const auto drive = platform.space(SpaceKind::kSsd), memory = platform.space(SpaceKind::kDevice);
  const bool direct = drive && memory && (platform.link(*drive, *memory) || platform.link(*memory, *drive));
  if (!direct) return;
  device.prepare_direct_storage();
  const DriveFile trial(folder, kStorageAlignment, true);
  if (trial.direct()) static_cast<void>(device.open_direct_io(trial, {}));  // else the drive says so, where one is used
}

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
    return run_segment(plan(), program, segment, batches, seed, [&](const RunSegment& rated, CountedTargets* targets) {
      const ExecutionContext context{plan(), program, loaded->pool, loaded->product, batches, seed, targets, options.transport};
      return DeviceRun(loaded->queues, context, rated, options.jitter_seed, graphs_for(program, targets != nullptr)).run();
    });
  }

  /// They are of the step's own program; where not all targets count, each step's losses are told how many do.
  [[nodiscard]] const DeviceGraphs* graphs_for(const Program& program, bool counts_targets) const {
    return &program == &loaded->step && !counts_targets ? &loaded->graphs : nullptr;
  }

  /// Makes room for a migration to `next`. When there is none, the plan that is loaded goes on as before.
  void make_room(const Plan& migration, const Plan& next) {
    try {
      loaded->arenas->resize(migration, largest_scratch(next));
    } catch (const EnvironmentError&) {
      become(Plan(plan()));  // the arenas may lie elsewhere now
      throw;
    }
  }

  /// On the queues of the plan that is loaded, whose own programs know nothing of the room that was made.
  LaneRecord carry_out(const Plan& migration) {
    const Program program = loaded->arenas->program_of(migration, *migration.body(kMigrateBody));
    const Program* const all[] = {&program};
    loaded->arenas->start_drives(all);
    if (program.body.size() == 0) return {};
    const NoBatches none;
    const ExecutionContext context{migration, program, loaded->pool, loaded->product, none};
    const RunSegment once{.first_step = 0, .steps = 1};
    return DeviceRun(loaded->queues, context, once, options.jitter_seed).run();
  }

  /// The state lies where `next` wants it.
  void become(const Plan& next) {
    std::unique_ptr<DeviceArenas> arenas = std::move(loaded->arenas);
    loaded.reset();
    loaded = std::make_unique<LoadedDevicePlan>(next, std::move(arenas), *device, options);
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
    try_direct_storage(plan.platform, *device, options.drive.folder);
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
  const StateBinding* kept = find_kept(impl_->plan(), kind, group);
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
  return evaluate_segment(impl_->plan(), impl_->loaded->evaluation, impl_->steps_done.value_or(0), batches, count,
                          [&](const Program& program, const RunSegment& segment, std::uint64_t seed) {
                            return impl_->run(program, segment, batches, seed);
                          });
}

Result<Trace> DeviceExecutor::migrate(const Plan& migration, const Plan& next) {
  if (auto good = check(next); !good) return fail(good.error());
  if (auto good = verify_plan(migration); !good) return fail(good.error());
  if (auto joins = check_migration(migration, impl_->plan(), next); !joins) return fail(joins.error());
  if (!impl_->steps_done && keeps_versions(next)) return bad("versions begin with a step: run one before the migration");
  try {
    try_direct_storage(next.platform, *impl_->device, impl_->options.drive.folder);
    impl_->make_room(migration, next);
  } catch (const EnvironmentError& error) {
    return fail(error.error());
  }
  LaneRecord record = impl_->carry_out(migration);
  Trace trace{.kind = TraceKind::kMeasured,
              .source = impl_->loaded->source,
              .events = std::move(record.events),
              .steps = std::move(record.steps)};
  for (const Arena& arena : migration.arenas) trace.peaks.push_back({.space = arena.space, .bytes = arena.bytes});
  impl_->loaded->arenas->resize(next, Bytes(0));
  impl_->become(next);
  return trace;
}

const std::string& DeviceExecutor::source() const { return impl_->loaded->source; }

std::vector<RunWarning> DeviceExecutor::take_warnings() {
  std::vector<RunWarning> warnings;
  for (Drive* drive : impl_->loaded->arenas->host().drives()) {
    if (auto slow = drive->take_slowness()) warnings.push_back(std::move(*slow));
  }
  return warnings;
}

std::vector<SpacePeak> DeviceExecutor::touched() const {
  const LoadedDevicePlan& loaded = *impl_->loaded;
  std::vector<SpacePeak> peaks;
  for (const Arena& arena : loaded.plan.arenas) {
    const bool known = loaded.arenas->device_memory(arena.space) == nullptr &&
                       (impl_->options.canary || loaded.arenas->host().drive(arena.space) != nullptr);
    const Bytes bytes = known ? loaded.arenas->host().touched(arena.space) : arena.bytes;
    peaks.push_back({.space = arena.space, .bytes = bytes, .by_category = {}});
  }
  return peaks;
}

Bytes DeviceExecutor::reserved_beside() const { return impl_->loaded->arenas->reserved_beside(); }

}  // namespace plimsoll
