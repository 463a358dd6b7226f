#include "session/run_session.h"

#include <fmt/format.h>
#include <malloc.h>

#include <filesystem>

#include "core/plan/expand.h"
#include "executor/checkpoint/training_state.h"
#include "executor/checkpoint/weights_file.h"
#include "formats/runs/process_samples.h"
#include "formats/runs/run_file_lock.h"
#include "formats/runs/run_file_writer.h"
#include "profiler/probe/others_cpu.h"
#include "session/choose_plan.h"
#include "session/compare_process.h"
#include "session/warm_up.h"
#include "sim/memory/ledger.h"

namespace plimsoll {
namespace {

void announce(const RunWatcher& watcher, const std::string& stage) {
  if (watcher.on_stage) watcher.on_stage(stage);
}

/// Removes the file and the companions that the database keeps beside it while it is open.
void remove_run_file(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    std::error_code ignored;  // what is not there need not go
    std::filesystem::remove(path + suffix, ignored);
  }
}

/// Runs one training from opened data to a closed run file.
class Session {
 public:
  Session(const RunRequest& request, const RunWatcher& watcher, const std::atomic<bool>& stop)
      : request_(request), watcher_(watcher), stop_(stop) {}

  Result<RunOutcome> run() {
    if (const auto opened = open_data(); !opened) return fail(opened.error());
    auto lock = RunFileLock::acquire(request_.output);
    if (!lock) return fail(lock.error());
    lock_.emplace(std::move(*lock));
    if (const auto runs = check_own_plan(request_); !runs) return fail(runs.error());
    auto chosen = warm_up_and_choose();
    if (!chosen) return fail(chosen.error());
    auto executor = CpuExecutor::create(chosen->plan, {.backend = "cpu", .drive = request_.drive});
    if (!executor) return fail(executor.error());
    const auto first = fill(**executor);
    if (!first) return fail(first.error());
    if (stop_) return fail(interrupted_too_early());
    make_file(*chosen);
    return run_with_file(std::move(*chosen), **executor, *first);
  }

 private:
  Result<void> open_data() {
    auto tokens = open_token_source(request_.data, request_.spec.vocabulary, request_.recipe.sequence);
    if (!tokens) return fail(tokens.error());
    tokens_ = std::move(*tokens);
    if (request_.evaluation_data.empty()) return {};
    auto evaluation = open_token_source(request_.evaluation_data, request_.spec.vocabulary, request_.recipe.sequence);
    if (!evaluation) return fail(evaluation.error());
    evaluation_ = std::move(*evaluation);
    return {};
  }

  Result<ChosenPlan> warm_up_and_choose() {
    std::shared_ptr<const CostModel> costs = request_.costs;
    double clipped_fraction = 1;  // unless the warm-up tells, the worst is assumed
    if (request_.warm_up_steps > 0) {
      announce(watcher_, fmt::format("warming up: {} profiled steps of a cautious plan", request_.warm_up_steps));
      const OthersCpu others;
      auto warm = warm_up(request_, *tokens_, stop_);
      if (!warm) return fail(warm.error());
      note_others(others.share());
      costs = warm->calibration.model;
      clipped_fraction = warm->clipped_fraction;
      warm_ = std::move(*warm);
    }
    if (stop_) return fail(interrupted_too_early());
    announce(watcher_, "planning");
    auto chosen = choose_plan(request_, *costs, clipped_fraction);
    ::malloc_trim(0);  // what the search used goes back before the arenas are reserved
    if (chosen && watcher_.on_plan) watcher_.on_plan(chosen->plan, chosen->prediction, chosen->candidates);
    return chosen;
  }

  /// Told at once, and logged when there is a file.
  void note_others(double share) {
    if (share <= kDisturbingShare) return;
    disturbance_ = fmt::format(
        "others used {:.0f} % of the CPU during the warm-up: what it measured, and the prediction, are too slow",
        100 * share);
    announce(watcher_, disturbance_);
  }

  static Error interrupted_too_early() {
    return {.kind = ErrorKind::kInterrupted, .what = "interrupted before the first step; nothing was written"};
  }

  /// Replaces an older file only now that the training can start.
  void make_file(const ChosenPlan& chosen) {
    if (request_.replace) remove_run_file(request_.output);
    const bool existed = std::filesystem::exists(request_.output);
    try {
      file_ = std::make_unique<RunFileWriter>(request_.output, request_.meta);
    } catch (const EnvironmentError&) {
      if (!existed) remove_run_file(request_.output);
      throw;
    }
    if (warm_) record_warm_up(*warm_);
    if (!disturbance_.empty()) file_->add_log({Nanoseconds(0), "warning", disturbance_});
    file_->add_plan("run", chosen.plan);
    file_->add_trace({.name = "predicted", .trace = chosen.prediction.trace});
  }

  void record_warm_up(const WarmUp& warm) {
    file_->add_plan("warm-up", warm.plan);
    file_->add_trace({.name = "warm-up", .trace = warm.trace});
    std::vector<CostSample> samples;
    for (const Sample& sample : warm.samples)
      samples.push_back({to_text(sample.key), sample.duration, sample.plan_digest});
    file_->add_cost_samples(std::move(samples));
  }

  /// Whatever happens, the file says how the run ended; one without a single step is not kept.
  Result<RunOutcome> run_with_file(ChosenPlan chosen, CpuExecutor& executor, std::int64_t first) {
    try {
      auto outcome = run_plan(std::move(chosen), executor, first);
      if (!outcome) file_->add_log({Nanoseconds(0), "error", outcome.error().text()});
      file_->close();
      if (!outcome && !stepped_) remove_run_file(request_.output);
      return outcome;
    } catch (const EnvironmentError& failure) {
      note_failure(failure.what());
      throw EnvironmentError(with_checkpoint(failure.error()));
    } catch (const std::exception& failure) {
      note_failure(failure.what());
      throw;
    }
  }

  /// A run that fails in the middle goes on from its last checkpoint, if it wrote one.
  [[nodiscard]] Error with_checkpoint(Error error) const {
    if (saved_steps_ == 0) return error;
    error.remedy += fmt::format("{}the checkpoint of step {} is whole: plimsoll run --resume {} goes on from there",
                                error.remedy.empty() ? "" : "; ", saved_steps_, request_.output);
    return error;
  }

  /// The disk may be the very thing that failed, so a note that cannot be written is given up.
  void note_failure(const std::string& text) {
    try {
      file_->add_log({Nanoseconds(0), "error", text});
      file_->close();
    } catch (const EnvironmentError&) {
      return;
    }
  }

  /// Weights from the seed, a file, or a checkpoint; returns the first step.
  Result<std::int64_t> fill(CpuExecutor& executor) {
    const auto write = [&](TensorKind kind, GroupId group, std::span<const std::byte> bytes) {
      executor.set_state(kind, group, bytes);
    };
    executor.initialize();
    if (!request_.resume.empty()) return resume(write);
    if (request_.init.empty()) return 0;
    const auto loaded = load_weights(request_.init, request_.spec, request_.recipe.precision, write);
    if (!loaded) return fail(loaded.error());
    return 0;
  }

  Result<std::int64_t> resume(const WriteState& write) {
    const auto first = load_training_state(request_.resume, request_.spec, request_.recipe, write);
    if (!first || *first < request_.schedule.end_step) return first;
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("{} already holds {} steps", request_.resume, *first),
                 .where = {},
                 .remedy = "ask for more with --steps"});
  }

  Result<RunOutcome> run_plan(ChosenPlan chosen, CpuExecutor& executor, std::int64_t first) {
    auto trace = train_steps(chosen, executor, first);
    if (!trace) return fail(trace.error());
    if (!stepped_) return fail(interrupted_too_early());
    done_ = first + static_cast<std::int64_t>(trace->steps.size());
    if (interrupted()) {
      file_->add_log({Nanoseconds(0), "warning",
                      fmt::format("interrupted after {} of {} steps", done_, request_.schedule.end_step)});
    }
    if (!request_.save.empty()) {
      announce(watcher_, "saving weights to " + request_.save);
      const auto saved = save_weights(request_.save, request_.spec, request_.recipe.precision, request_.save_type,
                                      [&](TensorKind kind, GroupId group) { return executor.state(kind, group); });
      if (!saved) return fail(saved.error());
    }
    return finish(std::move(chosen), std::move(*trace));
  }

  void warn(Nanoseconds at, const std::string& text) {
    file_->add_log({at, "warning", text});
    if (watcher_.on_warning) watcher_.on_warning(text);
  }

  [[nodiscard]] bool interrupted() const { return done_ < request_.schedule.end_step; }

  Result<Trace> train_steps(const ChosenPlan& chosen, CpuExecutor& executor, std::int64_t first) {
    TrainSchedule schedule = request_.schedule;
    schedule.first_step = first;
    schedule.checkpoint = checkpoint_of(request_.output);
    announce(watcher_, fmt::format("training: steps {} to {}", first + 1, schedule.end_step));
    const StoredTraceId stored =
        file_->add_trace({.name = "run", .trace = {.plan_digest = chosen.digest, .source = executor.source()}});
    file_->flush();  // what the run is stands in its file before the first step: a killed one can be resumed
    TrainWatcher watcher;
    watcher.on_step = [&](const StepSummary& step) {
      stepped_ = true;
      file_->add_steps(stored, {step});
      for (const std::string& text : executor.take_warnings()) warn(step.end, text);
      if (watcher_.on_step) watcher_.on_step(step, schedule.end_step);
    };
    watcher.on_events = [&](const std::vector<TraceEvent>& events) { file_->add_events(stored, events); };
    watcher.on_evaluation = [&](std::int64_t done, double loss) {
      file_->add_evaluation({static_cast<std::uint32_t>(done), loss});
      if (watcher_.on_evaluation) watcher_.on_evaluation(done, loss);
    };
    watcher.on_checkpoint = [&](std::int64_t done, const std::string& path) {
      saved_steps_ = done;
      file_->add_checkpoint({static_cast<std::uint32_t>(done), path, numerics_digest(request_.spec, request_.recipe)});
      file_->flush();
    };
    auto trace = train(chosen.plan, executor, *tokens_, evaluation_.get(), schedule, watcher, stop_);
    if (!trace) return trace;
    trace->plan_digest = chosen.digest;
    add_measured_categories(chosen.plan, *trace);
    file_->add_peaks(stored, trace->peaks);
    process_ = compare_process(chosen.plan, *trace, schedule);
    if (process_) file_->add_memory(process_samples(*process_, trace->steps.empty() ? Nanoseconds(0) : trace->steps.back().end));
    return trace;
  }

  /// High-water marks come from the arenas' canaries; what lay there, from the buffers' lives as the trace timed them.
  static void add_measured_categories(const Plan& plan, Trace& trace) {
    const FlatBody body = expand(plan, *plan.body("step"));
    for (const SpacePeak& live : memory_peaks(plan, memory_ledger_of_run(plan, body, trace))) {
      for (SpacePeak& peak : trace.peaks) {
        if (peak.space == live.space) peak.by_category = live.by_category;
      }
    }
  }

  Result<RunOutcome> finish(ChosenPlan chosen, Trace trace) {
    RunOutcome outcome{
        .plan = std::move(chosen.plan), .prediction = std::move(chosen.prediction), .measured = std::move(trace)};
    outcome.interrupted = interrupted();
    outcome.checkpoint = checkpoint_of(request_.output);
    auto comparison = compare_traces(outcome.plan, outcome.prediction.trace, outcome.measured);
    if (comparison) {
      outcome.comparison = std::move(*comparison);
      outcome.comparison->process = process_;
    } else {
      outcome.not_compared = comparison.error().what;
    }
    return outcome;
  }

  const RunRequest& request_;
  const RunWatcher& watcher_;
  const std::atomic<bool>& stop_;
  std::unique_ptr<TokenSource> tokens_;
  std::unique_ptr<TokenSource> evaluation_;
  std::optional<WarmUp> warm_;
  std::string disturbance_;  // of the warm-up; empty: none
  std::optional<RunFileLock> lock_;  // before the file, which goes first
  std::unique_ptr<RunFileWriter> file_;
  std::optional<ComparedProcess> process_;
  std::int64_t done_ = 0;
  std::int64_t saved_steps_ = 0;  // of the last checkpoint; 0: none
  std::atomic<bool> stepped_{false};  // set from the executor's thread
};

}  // namespace

std::string checkpoint_of(const std::string& run_file) { return run_file + ".checkpoint.safetensors"; }

Result<RunOutcome> run_session(const RunRequest& request, const RunWatcher& watcher, const std::atomic<bool>& stop) {
  return Session(request, watcher, stop).run();
}

}  // namespace plimsoll
