#include "executor/cpu/cpu_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "core/plan/verify_plan.h"
#include "executor/cpu/arena_set.h"
#include "executor/cpu/check_runnable.h"
#include "executor/cpu/execute.h"
#include "executor/cpu/fill_state.h"
#include "executor/cpu/kept_state.h"
#include "executor/cpu/loaded_plan.h"
#include "executor/cpu/over_pieces.h"
#include "executor/cpu/published_weights.h"
#include "executor/cpu/rehearse.h"
#include "executor/cpu/run_lanes.h"
#include "executor/cpu/segment_run.h"
#include "executor/cpu/state_share.h"
#include "executor/data/no_batches.h"
#include "executor/kernels/blas_room.h"
#include "executor/kernels/matrix_product.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll {
namespace {

std::int64_t worker_count(const Plan& plan, const CpuOptions& options) {
  if (options.threads > 0) return options.threads;
  for (const Processor& processor : plan.platform.processors) {
    if (processor.kind == ProcessorKind::kCpu) return std::max<std::int64_t>(1, processor.cores);
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

tl::unexpected<Error> bad(std::string what, std::string remedy = {}) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = std::move(remedy)});
}

Result<void> check_transport(const Plan& plan, const CpuOptions& options) {
  const std::uint32_t rank = options.transport == nullptr ? 0 : options.transport->rank();
  const std::uint32_t ranks = options.transport == nullptr ? 1 : options.transport->ranks();
  if (plan.rank == rank && plan.ranks == ranks) return {};
  return bad(fmt::format("the plan is of rank {} of {}, and this process is rank {} of {}", plan.rank, plan.ranks, rank, ranks),
             fmt::format("mpirun -n {} plimsoll run ...", plan.ranks));
}

}  // namespace

struct CpuExecutor::Impl {
  Impl(const Plan& verified, const CpuOptions& how)
      : options(how),
        arenas(verified, options.drive),
        pool(worker_count(verified, options)),
        product(verified.recipe.matmul),
        loaded(std::make_unique<LoadedPlan>(verified, arenas)) {
    start_drives(loaded->programs());
    require_blas_room();
    rehearse(loaded->plan, loaded->programs(), {.pool = &pool, .product = &product});
    if (options.canary) {
      arenas.fill_canary();
    } else {
      arenas.fill_zeros();
    }
  }

  [[nodiscard]] const Plan& plan() const { return loaded->plan; }

  void require_blas_room() const {
    if (!uses_openblas(plan().recipe)) return;
    if (const auto room = check_blas_room(pool.workers()); !room) throw EnvironmentError(room.error());
  }

  void start_drives(const std::vector<const Program*>& programs) {
    source = options.backend;
    for (Drive* drive : arenas.drives()) {
      drive->start(memory_beside(*drive, programs));
      source += fmt::format("; ssd: {}", drive->describe());
    }
  }

  /// Weights are drawn once, for the copy that the optimizer updates and the one that compute reads.
  void put_first(const StateBinding& binding) {
    const Recipe& recipe = plan().recipe;
    if (is_weights(binding.kind)) {
      if (find_kept(plan(), binding.kind, binding.group) == &binding) draw_weights(binding);
    } else if (binding.kind == TensorKind::kScalar) {
      const LossScale first = first_loss_scale(recipe.loss_scaling);
      loaded->states.write(binding, [&](std::span<std::byte> bytes) { std::memcpy(bytes.data(), &first, sizeof(first)); });
    } else {
      loaded->states.write(binding, zero_in_pieces);
    }
  }

  /// A part of a group is cut out of the whole.
  void draw_weights(const StateBinding& kept) {
    const bool whole = kept.parts == 1;
    const DType type = whole ? dtype_of(plan(), kept) : state_dtype(plan().recipe.precision);
    const auto draw = [&](std::span<std::byte> place) {
      fill_weights(plan().spec, plan().recipe, kept.group, type, place, pool);
    };
    whole ? write_whole(kept, draw) : write_share(kept, draw);
  }

  /// The copy that compute reads of what the optimizer updates; null where there is but one.
  [[nodiscard]] const StateBinding* published_of(const StateBinding& kept) const {
    return kept.kind == TensorKind::kMaster ? find_state(plan(), TensorKind::kParameter, kept.group) : nullptr;
  }

  /// And the copy that compute reads.
  void write_whole(const StateBinding& kept, const std::function<void(std::span<std::byte>)>& fill) {
    std::span<const std::byte> written;  // where it was put together stays as it is until another is
    loaded->states.write(kept, [&](std::span<std::byte> place) {
      fill(place);
      written = place;
    });
    const StateBinding* published = published_of(kept);
    if (published == nullptr) return;
    loaded->states.write(*published, [&](std::span<std::byte> place) {
      publish_weights(written, dtype_of(plan(), kept), place, dtype_of(plan(), *published));
    });
  }

  /// Of the whole group's state, in the type in which one rank would keep it.
  void write_share(const StateBinding& kept, const std::function<void(std::span<std::byte>)>& fill_whole) {
    const std::vector<std::byte> whole = whole_state(plan(), layout, kept, fill_whole);
    const auto put = [&](const StateBinding& binding) {
      const DType from = is_weights(kept.kind) ? state_dtype(plan().recipe.precision) : dtype_of(plan(), binding);
      loaded->states.write(binding, [&](std::span<std::byte> place) {
        publish_weights(part_in(whole, plan(), layout, binding), from, place, dtype_of(plan(), binding));
      });
    };
    put(kept);
    if (const StateBinding* published = published_of(kept)) put(*published);
  }

  /// Where versions are kept, which one is valid depends on the step.
  [[nodiscard]] Result<void> check_goes_on(const RunSegment& segment) const {
    if (!steps_done || *steps_done == segment.first_step || !keeps_versions(plan())) return {};
    return bad(fmt::format("the states are those of {} steps, so step {} cannot come next", *steps_done,
                           segment.first_step),
               "go on where the last segment ended, or set the states anew");
  }

  /// Runs steps of one of the plan's programs.
  LaneRecord run(const Program& program, const RunSegment& segment, const BatchSource& batches, std::uint64_t seed) {
    const bool waits = !options.waits.empty() && &program == &loaded->step;
    return run_segment(plan(), program, segment, batches, seed, [&](const RunSegment& rated, CountedTargets* targets) {
      return run_program({plan(), program, pool, product, batches, seed, targets, options.transport,
                          waits ? &options.waits : nullptr},
                         rated);
    });
  }

  /// What the first step of a row finds of the steps before it.
  void begin_row(const RunSegment& segment, const BatchSource& batches) {
    if (!segment.fills || !loaded->fill) return;
    constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
    run(*loaded->fill, {.first_step = segment.first_step, .steps = 1, .first_traced_step = kNever}, batches, plan().recipe.seed);
  }

  LaneRecord run_program(const ExecutionContext& context, const RunSegment& segment) const {
    constexpr std::int64_t kMostSteps = std::numeric_limits<std::uint32_t>::max();
    return run_lanes({.platform = context.plan.platform,
                      .body = context.program.body,
                      .first_step = segment.first_step,
                      .steps = static_cast<std::uint32_t>(std::clamp<std::int64_t>(segment.steps, 0, kMostSteps)),
                      .first_traced_step = segment.first_traced_step,
                      .jitter_seed = options.jitter_seed,
                      .stop = segment.stop,
                      .execute = [&](std::uint32_t id, std::int64_t at) { return plimsoll::execute(context, id, at); },
                      .on_step = segment.on_step,
                      .growth = segment.growth});
  }

  /// Makes room for a migration. When there is none, the plan that is loaded goes on as before.
  void make_room(const Plan& migration) {
    try {
      arenas.resize(migration);
    } catch (...) {
      reload();
      throw;
    }
  }

  /// The arenas may lie elsewhere now.
  void reload() {
    loaded = std::make_unique<LoadedPlan>(Plan(plan()), arenas);
    start_drives(loaded->programs());
  }

  LaneRecord carry_out(const Plan& migration) {
    const Program program = make_program(migration, *migration.body(kMigrateBody), arenas);
    start_drives({&program});
    if (program.body.size() == 0) return {};
    return run_program({migration, program, pool, product, NoBatches(), 0}, {.steps = 1});
  }

  /// The state lies where `next` wants it; all else is as in a new executor.
  void become(const Plan& next) {
    arenas.resize(next);
    loaded = std::make_unique<LoadedPlan>(next, arenas);
    start_drives(loaded->programs());
    rehearse(plan(), loaded->programs(), {.pool = &pool, .product = &product, .keep_state = true});
    if (options.canary) arenas.fill_canary_outside_state(plan());
    arenas.count_drives_from_state(plan());
  }

  const CpuOptions options;
  ArenaSet arenas;
  WorkerPool pool;
  MatrixProduct product;
  std::unique_ptr<LoadedPlan> loaded;
  const ParameterLayout layout = lay_out_parameters(plan().spec, plan().recipe.adapter);
  std::string source;
  std::optional<std::int64_t> steps_done;  ///< nothing: every version of the states holds the same
};

CpuExecutor::CpuExecutor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CpuExecutor::~CpuExecutor() = default;

Result<std::unique_ptr<CpuExecutor>> CpuExecutor::create(const Plan& plan, const CpuOptions& options) {
  if (auto verified = verify_plan(plan); !verified) return fail(verified.error());
  if (auto runnable = check_runnable(plan); !runnable) return fail(runnable.error());
  if (auto joined = check_transport(plan, options); !joined) return fail(joined.error());
  try {
    return std::unique_ptr<CpuExecutor>(new CpuExecutor(std::make_unique<Impl>(plan, options)));
  } catch (const EnvironmentError& error) {
    return fail(error.error());
  }
}

void CpuExecutor::initialize() {
  impl_->steps_done.reset();
  for (const StateBinding& binding : impl_->plan().state) impl_->put_first(binding);
}

std::span<const std::byte> CpuExecutor::state(TensorKind kind, GroupId group) const {
  const StateBinding* kept = find_kept(impl_->plan(), kind, group);
  return kept == nullptr ? std::span<const std::byte>() : impl_->loaded->states.read(*kept, impl_->steps_done.value_or(0));
}

void CpuExecutor::set_state(TensorKind kind, GroupId group, const std::function<void(std::span<std::byte>)>& fill) {
  const StateBinding* kept = find_kept(impl_->plan(), kind, group);
  if (kept == nullptr) return;
  keeps_less(impl_->plan(), *kept) ? impl_->write_share(*kept, fill) : impl_->write_whole(*kept, fill);
}

Result<Trace> CpuExecutor::run_steps(const RunSegment& segment, const BatchSource& batches) {
  if (segment.first_step < 0 || segment.steps < 0) return bad("a segment cannot start or last below zero steps");
  if (auto fits = batches.check(impl_->plan().spec, impl_->plan().recipe); !fits) return fail(fits.error());
  if (auto next = impl_->check_goes_on(segment); !next) return fail(next.error());
  impl_->begin_row(segment, batches);
  LaneRecord record = impl_->run(impl_->loaded->step, segment, batches, impl_->plan().recipe.seed);
  if (!record.steps.empty()) impl_->steps_done = segment.first_step + static_cast<std::int64_t>(record.steps.size());
  return Trace{.kind = TraceKind::kMeasured,
               .plan_digest = {},
               .source = impl_->source,
               .calibrated_from = {},
               .events = std::move(record.events),
               .steps = std::move(record.steps),
               .peaks = touched()};
}

Result<HeldOut> CpuExecutor::evaluate(const BatchSource& batches, std::int64_t count) {
  return evaluate_segment(impl_->plan(), impl_->loaded->evaluation, impl_->steps_done.value_or(0), batches, count,
                          [&](const Program& program, const RunSegment& segment, std::uint64_t seed) {
                            return impl_->run(program, segment, batches, seed);
                          });
}

Result<Trace> CpuExecutor::migrate(const Plan& migration, const Plan& next) {
  for (const Plan* plan : {&migration, &next}) {
    if (auto verified = verify_plan(*plan); !verified) return fail(verified.error());
  }
  if (auto runnable = check_runnable(next); !runnable) return fail(runnable.error());
  if (!impl_->steps_done && keeps_versions(next)) return bad("versions begin with a step: run one before the migration");
  if (auto joins = check_migration(migration, impl_->plan(), next); !joins) return fail(joins.error());
  try {
    impl_->make_room(migration);
  } catch (const EnvironmentError& error) {
    return fail(error.error());
  }
  Trace trace{.kind = TraceKind::kMeasured};
  LaneRecord record = impl_->carry_out(migration);
  for (const Arena& arena : migration.arenas) trace.peaks.push_back({.space = arena.space, .bytes = arena.bytes});
  trace.source = impl_->source;
  trace.events = std::move(record.events);
  trace.steps = std::move(record.steps);
  impl_->become(next);
  return trace;
}

const std::string& CpuExecutor::source() const { return impl_->source; }

std::vector<RunWarning> CpuExecutor::take_warnings() {
  std::vector<RunWarning> warnings;
  for (Drive* drive : impl_->arenas.drives()) {
    if (auto slow = drive->take_slowness()) warnings.push_back(std::move(*slow));
  }
  return warnings;
}

std::vector<SpacePeak> CpuExecutor::touched() const {
  std::vector<SpacePeak> peaks;
  for (const Arena& arena : impl_->plan().arenas) {
    const bool known = impl_->options.canary || impl_->arenas.drive(arena.space) != nullptr;
    peaks.push_back({.space = arena.space,
                     .bytes = known ? impl_->arenas.touched(arena.space) : arena.bytes,
                     .by_category = {}});
  }
  return peaks;
}

Result<void> CpuExecutor::check_touched() const {
  if (!impl_->options.canary) return bad("touched bytes are known only in a run with canaries");
  return impl_->arenas.check_touched(impl_->plan());
}

}  // namespace plimsoll
