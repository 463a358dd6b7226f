#include "session/probe/probe_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "executor/kernels/blas_room.h"
#include "executor/kernels/choose_matmul_library.h"
#include "executor/kernels/matrix_product.h"
#include "executor/kernels/worker_pool.h"
#include "executor/tiers/drive_folder.h"
#include "executor/tiers/drive_rates.h"
#include "formats/models/shape_words.h"
#include "profiler/microbench/memory_rates.h"
#include "profiler/probe/others_cpu.h"
#include "session/probe/measured_parts.h"
#include "session/probe/rehearsal.h"
#include "sim/cost/cost_key.h"
#include "sim/cost/kernel_work.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kMatmulTrialMilliseconds = 200;
constexpr std::int64_t kMicroBatch = 2;
// Kernels of one kind are timed at sizes that differ by such factors: with all workers, and with fewer.
constexpr double kNear = 1.3, kFar = 3.0;
constexpr double kNano = 1e-9;
// Kernels are two thirds of the time; these shares only draw the progress.
constexpr double kMemoryShare = 0.25, kKernelShare = 0.90, kInterpreterShare = 0.95;
constexpr Bytes kDriveSpan = 512 * kMiB;

/// Widths from a few cache lines to products that fill the cores, and both families of blocks.
const std::vector<std::string>& usual_models() {
  static const std::vector<std::string> models{"gpt:layers=1,hidden=64,heads=2,vocab=256,positions=64",
                                               "gpt:layers=1,hidden=256,heads=4,vocab=2048,positions=128",
                                               "gpt:layers=1,hidden=768,heads=12,vocab=4096,positions=128",
                                               "llama:layers=1,hidden=384,heads=6,vocab=4096,positions=128"};
  return models;
}

Recipe recipe_of(const ModelSpec& spec, MatmulLibrary library, Precision precision) {
  return {.precision = precision, .matmul = library, .micro_batch = kMicroBatch, .accumulate = 2, .sequence = spec.max_positions};
}

/// Kernels that more workers than one change most; the others are timed with all workers only.
bool scales_with_workers(const KernelTrial& trial) { return sort_of(trial.kernel.kind) != KernelSort::kStreaming; }

bool within(double a, double b, double factor) { return a <= b * factor && b <= a * factor; }

bool are_alike(const Kernel& a, const Kernel& b, std::int64_t workers, double factor) {
  const KernelWork of_a = critical_work(a, workers), of_b = critical_work(b, workers);
  return a.kind == b.kind && a.dtype == b.dtype && a.shape.variant == b.shape.variant &&
         within(of_a.flops, of_b.flops, factor) && within(of_a.bytes, of_b.bytes, factor);
}

Spread in_nanoseconds(Spread seconds) {
  seconds.median /= kNano;
  seconds.low /= kNano;
  seconds.high /= kNano;
  return seconds;
}

/// One kernel to be timed by a number of workers.
struct Trial {
  KernelTrial kernel;
  std::int64_t workers = 1;
};

/// Measures one thing after another into a MachineProbe.
class Probe {
 public:
  Probe(const ProbeOptions& options, const ProbeWatcher& watcher, const std::atomic<bool>& stop)
      : options_(options), watcher_(watcher), stop_(stop), computer_(probe_this_computer()) {}

  Result<MachineProbe> run() {
    describe();
    const std::array<std::function<Result<void>()>, 6> stages{
        [this] { return measure_memory(); }, [this] { return list_trials(); },       [this] { return measure_pairs(); },
        [this] { return build_platform(); }, [this] { return measure_transfers(); }, [this] { return time_kernels(); }};
    for (const auto& stage : stages) {
      if (const auto done = stage(); !done) return fail(done.error());
      if (stop_)
        return fail({.kind = ErrorKind::kInterrupted, .what = "the probe was interrupted; nothing was written"});
    }
    if (const auto done = measure_interpreter(); !done) return fail(done.error());
    if (const auto done = measure_drive(); !done) return fail(done.error());
    probe_.parts = measured_parts(computer_, probe_);
    probe_.others_cpu = others_.share();
    tell("done", 1);
    return std::move(probe_);
  }

 private:
  void tell(const std::string& what, double done) const {
    if (watcher_) watcher_(what, done);
  }

  void describe() {
    probe_.cpu_model = computer_.cpu_model;
    probe_.logical_cores = computer_.logical_cores;
    probe_.physical_cores = computer_.physical_cores;
    probe_.topology = computer_.topology;
    probe_.workers = computer_.physical_cores;
    probe_.date = options_.date;
    probe_.tool_version = options_.tool_version;
  }

  [[nodiscard]] MemoryTrial memory_trial(std::int64_t threads) const {
    return {.bytes_per_thread = Bytes(options_.memory_bytes.count / threads),
            .threads = threads,
            .timing = options_.memory};
  }

  Result<void> measure_memory() {
    tell("memory", 0);
    const MemoryTrial all = memory_trial(computer_.logical_cores);
    probe_.memory.read = measure_read_rate(all);
    Spread copied = measure_copy_rate(all);
    for (double* rate : {&copied.median, &copied.low, &copied.high}) *rate *= 2;  // each byte is read and written
    probe_.memory.copy_traffic = copied;
    probe_.memory.copy = measure_copy_rate(memory_trial(1));
    const Spread line = measure_copy_time(Bytes(64), options_.memory_bytes, options_.memory);
    probe_.memory.copy_latency = Nanoseconds(std::llround(line.median / kNano));
    return {};
  }

  Result<void> list_trials() {
    library_ = choose_matmul_library(kMatmulTrialMilliseconds).library;
    if (library_ == MatmulLibrary::kOpenBlas) {
      if (const auto room = check_blas_room(computer_.physical_cores); !room) return room;
    }
    for (const std::string& words : options_.models.empty() ? usual_models() : options_.models) {
      const auto spec = parse_shape_words(words);
      if (!spec) return fail(spec.error());
      for (const std::int64_t workers : worker_counts(computer_.physical_cores)) {
        const bool all = workers == computer_.physical_cores;
        for (KernelTrial& trial : trials_in(*spec, Precision::kFp32, workers)) {
          if (all || scales_with_workers(trial)) add_trial({std::move(trial), workers}, all ? kNear : kFar);
        }
      }
      for (const Precision precision : {Precision::kBf16Mixed, Precision::kFp16Mixed}) {
        for (KernelTrial& trial : trials_in(*spec, precision, computer_.physical_cores)) {
          add_trial({std::move(trial), computer_.physical_cores}, kFar);
        }
      }
    }
    return {};
  }

  [[nodiscard]] std::vector<KernelTrial> trials_in(const ModelSpec& spec, Precision precision, std::int64_t workers) const {
    return trials_of(build_training_graph(spec, recipe_of(spec, library_, precision), {.workers = workers}));
  }

  /// Unless a kernel of the same kind, and of nearly the same work, is timed already.
  void add_trial(Trial trial, double nearness) {
    const bool known = std::any_of(trials_.begin(), trials_.end(), [&](const Trial& other) {
      return other.workers == trial.workers && are_alike(other.kernel.kernel, trial.kernel.kernel, trial.workers, nearness);
    });
    if (!known) trials_.push_back(std::move(trial));
  }

  /// The largest kernel of that sort, as all workers run it.
  [[nodiscard]] const KernelTrial& largest(KernelSort sort) const {
    const Trial* found = &trials_.front();
    for (const Trial& trial : trials_) {
      const bool better = trial.workers == computer_.physical_cores && sort_of(trial.kernel.kernel.kind) == sort &&
                          (sort_of(found->kernel.kernel.kind) != sort ||
                           work_of(trial.kernel.kernel).bytes >= work_of(found->kernel.kernel).bytes);
      if (better) found = &trial;
    }
    return found->kernel;
  }

  Result<void> measure_pairs() {
    WorkerPool pool(computer_.physical_cores);
    const MatrixProduct product(library_);
    const auto beside = [&](KernelSort sort) {
      const KernelTrial& trial = largest(sort);
      KernelOperands operands(trial, options_.memory_bytes);
      const LaunchContext context{.pool = &pool, .product = &product, .recipe = &trial.recipe};
      return measure_beside_copies([&] { launch(trial.kernel, operands.next(), context); }, memory_trial(1));
    };
    tell("copies beside matrix products", kMemoryShare / 2);
    probe_.memory.product = beside(KernelSort::kProduct);
    tell("copies beside the optimizer", kMemoryShare * 3 / 4);
    probe_.memory.optimizer = beside(KernelSort::kOptimizer);
    return {};
  }

  Result<void> build_platform() {
    ComputerOptions options{.probe = &probe_};
    if (probe_.drive) options.drive = attached(*probe_.drive);
    const auto described = computer_platform(computer_, options);
    if (!described) return fail(described.error());
    probe_.platform = described->platform;
    return {};
  }

  Result<void> measure_transfers() {
    tell("copies", kMemoryShare);
    TimingOptions timing = options_.memory;
    timing.seconds /= 4;
    for (const Link& link : probe_.platform.links) {
      for (const Bytes bytes : {4 * kKiB, 64 * kKiB, kMiB, 16 * kMiB}) {
        if (bytes > options_.memory_bytes) continue;
        add(transfer_key(probe_.platform, link, bytes),
            in_nanoseconds(measure_copy_time(bytes, options_.memory_bytes, timing)));
      }
    }
    return {};
  }

  Result<void> time_kernels() {
    const MatrixProduct product(library_);
    TrialOptions trial_options{.timing = {.dropped = 3}, .span = options_.kernel_span};
    trial_options.timing.seconds =
        std::min(options_.most_per_kernel, options_.kernel_seconds / static_cast<double>(trials_.size()));
    trial_options.timing.most_seconds = 2 * trial_options.timing.seconds;
    for (std::size_t i = 0; i < trials_.size(); ++i) {
      if (stop_) return {};
      const auto& [trial, workers] = trials_[i];
      const double done = static_cast<double>(i) / static_cast<double>(trials_.size());
      tell(fmt::format("{} by {} {}", to_text(trial.kernel.kind), workers, workers == 1 ? "worker" : "workers"),
           kMemoryShare + done * (kKernelShare - kMemoryShare));
      WorkerPool pool(workers);
      const auto seconds = time_kernel(trial, {.pool = &pool, .product = &product}, trial_options);
      const Spread spread = spread_of(seconds);
      add(kernel_key(processor_of(workers), trial.kernel), in_nanoseconds(spread));
      if (workers == computer_.physical_cores) note_rate(trial.kernel, spread);
    }
    return {};
  }

  /// This computer's processor as a platform of so many threads names it.
  [[nodiscard]] Processor processor_of(std::int64_t workers) const {
    const auto described = computer_platform(computer_, {.threads = workers, .probe = &probe_});
    return described ? described->platform.processors.front() : Processor{};
  }

  Result<void> measure_interpreter() {
    tell("gaps between instructions", kKernelShare);
    const auto samples = rehearse_interpreter(probe_.platform, options_.rehearsal_steps);
    if (!samples) return fail(samples.error());
    const SampleStatistics statistics = summarize_samples(*samples);
    for (const auto& [key, known] : statistics.keys) {
      add(key, {.median = known.expected_ns,
                .low = known.low_ns,
                .high = known.high_ns,
                .samples = static_cast<std::int64_t>(known.samples)});
    }
    probe_.plans = statistics.plans;
    return {};
  }

  Result<void> measure_drive() {
    if (options_.ssd_folder.empty()) return {};
    tell("the drive of " + options_.ssd_folder, kInterpreterShare);
    const auto usable = check_drive_folder(options_.ssd_folder, kDriveSpan);
    if (!usable) return fail(usable.error());
    const Bytes fill(std::min(options_.ssd_fill.count, usable->free.count / 2));
    const auto rates =
        measure_drive_rates({.folder = options_.ssd_folder}, {.span = kDriveSpan, .fill = fill, .mixed = true});
    if (!rates) return fail(rates.error());
    probe_.drive = ProbedDrive{.folder = options_.ssd_folder,
                               .way = rates->way,
                               .free = usable->free,
                               .filled = rates->filled,
                               .read = rates->read,
                               .write = rates->write,
                               .mixed_read = rates->mixed_read,
                               .mixed_write = rates->mixed_write};
    return build_platform();  // now with the drive
  }

  /// What the largest kernels reach, for people.
  void note_rate(const Kernel& kernel, const Spread& seconds) {
    const KernelWork work = work_of(kernel);
    if (kernel == largest(KernelSort::kProduct).kernel) probe_.product_flops = rate_of(seconds, work.flops);
    if (kernel == largest(KernelSort::kOptimizer).kernel) probe_.optimizer_bytes = rate_of(seconds, work.bytes);
  }

  void add(const CostKey& key, const Spread& nanoseconds) { probe_.costs.push_back({to_text(key), nanoseconds}); }

  const ProbeOptions& options_;
  const ProbeWatcher& watcher_;
  const std::atomic<bool>& stop_;
  const ThisComputer computer_;
  const OthersCpu others_;
  MachineProbe probe_;
  MatmulLibrary library_ = MatmulLibrary::kOneDnn;
  std::vector<Trial> trials_;
};

}  // namespace

std::vector<std::int64_t> worker_counts(std::int64_t most) {
  std::vector<std::int64_t> counts;
  for (std::int64_t workers = 1; workers < most; workers *= 2) counts.push_back(workers);
  counts.push_back(most);
  return counts;
}

Result<MachineProbe> probe_machine(const ProbeOptions& options, const ProbeWatcher& watcher,
                                   const std::atomic<bool>& stop) {
  return Probe(options, watcher, stop).run();
}

}  // namespace plimsoll
