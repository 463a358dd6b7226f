#include "session/run_session.h"

#include <fmt/format.h>
#include <malloc.h>

#include "executor/data/open_batch_source.h"
#include "formats/plans/plan_json.h"
#include "formats/runs/process_samples.h"
#include "formats/runs/run_file_lock.h"
#include "profiler/probe/others_cpu.h"
#include "session/check_room.h"
#include "session/choose_plan.h"
#include "session/compare_process.h"
#include "session/host_memory.h"
#include "session/keep_state.h"
#include "session/measure_safety.h"
#include "session/open_run_file.h"
#include "session/resume_command.h"
#include "session/training_record.h"
#include "session/warm_up.h"
#include "session/weights_in_and_out.h"

namespace plimsoll {
namespace {

Error interrupted_too_early() {
  return {.kind = ErrorKind::kInterrupted, .what = "interrupted before the first step; nothing was written"};
}

/// Runs one training from opened data to a closed run file.
class Session {
 public:
  Session(const RunRequest& request, const RunWatcher& watcher, const std::atomic<bool>& stop)
      : request_(request), watcher_(watcher), stop_(stop), record_(request) {}

  Result<RunOutcome> run() {
    if (const auto opened = open_data(); !opened) return fail(opened.error());
    auto lock = RunFileLock::acquire(request_.output);
    if (!lock) return fail(lock.error());
    lock_.emplace(std::move(*lock));
    if (const auto runs = check_own_plan(request_); !runs) return fail(runs.error());
    auto drive_lock = lock_drive(request_);
    if (!drive_lock) return fail(drive_lock.error());
    drive_lock_ = std::move(*drive_lock);
    if (warm_up_share(request_, 0) > 0) {
      auto cautious = cautious_plan(request_);
      if (!cautious) return fail(cautious.error());
      if (const auto fits = check_named_strategy(); !fits) return fail(fits.error());
      if (const auto started = start(*cautious); !started) return fail(started.error());
      if (warm_up_share(request_, done_) > 0) {
        return record_.keep([&] { return warm_up_and_run(std::move(*cautious)); });
      }
      executor_.reset();  // the checkpoint that it goes on from leaves too few steps
    }
    if (request_.warm_up_steps > 0) announce("too few steps for a warm-up: the prediction does without one");
    auto chosen = choose(*request_.costs);
    if (!chosen) return fail(chosen.error());
    if (const auto started = start(chosen->plan); !started) return fail(started.error());
    return record_.keep([&] { return run_chosen(std::move(*chosen)); });
  }

 private:
  void announce(const std::string& stage) const {
    if (watcher_.on_stage) watcher_.on_stage(stage);
  }

  Result<void> open_data() {
    auto batches = open_batch_source(request_.data, request_.spec, request_.recipe);
    if (!batches) return fail(batches.error());
    batches_ = std::move(*batches);
    auto mark = mark_of_data(request_);
    if (!mark) return fail(mark.error());
    mark_ = std::move(*mark);
    if (request_.evaluation_data.empty()) return {};
    auto evaluation = open_batch_source(request_.evaluation_data, request_.spec, request_.recipe);
    if (!evaluation) return fail(evaluation.error());
    evaluation_ = std::move(*evaluation);
    return {};
  }

  [[nodiscard]] bool is_free_to_choose() const {
    return !request_.plan && !request_.exact_strategy && request_.strategy == "auto";
  }

  /// What the warm-up measures does not change whether a strategy fits, so that is asked before.
  Result<void> check_named_strategy() const {
    if (request_.plan || is_free_to_choose()) return {};
    const auto chosen = choose_plan(request_, *request_.costs);
    return chosen ? Result<void>{} : fail(chosen.error());
  }

  Result<ChosenPlan> choose(const CostModel& costs, const StepOdds& odds = {}) {
    if (stop_) return fail(interrupted_too_early());
    announce("planning");
    auto chosen = choose_plan(request_, costs, odds);
    ::malloc_trim(0);  // what the search used goes back before the arenas are reserved
    if (chosen && watcher_.on_plan) watcher_.on_plan(chosen->plan, chosen->prediction, chosen->candidates);
    return chosen;
  }

  /// An executor of that plan, filled with the state that the training begins with.
  Result<void> start(const Plan& plan) {
    const RoomQuestion room{.first_step = first_step_of(request_), .data = mark_};
    if (const auto fits = check_room(request_, {&plan, 1}, room); !fits) return fits;
    auto executor = open_executor(request_.backend, plan, drive_of(request_), request_.device_graphs);
    if (!executor) return fail(executor.error());
    executor_ = std::move(*executor);
    const auto first = fill_state(*executor_, request_);
    if (!first) return fail(first.error());
    done_ = saved_ = *first;
    if (stop_) return fail(interrupted_too_early());
    return {};
  }

  Result<RunOutcome> warm_up_and_run(Plan cautious) {
    const std::int64_t until = done_ + warm_up_share(request_, done_);
    announce(fmt::format("warming up: {} profiled steps of a cautious plan", until - done_));
    record_->add_plan("warm-up", cautious);
    const OthersCpu others;
    auto trace = train_until(until, cautious, "warm-up");
    if (!trace) return fail(trace.error());
    note_others(others.share());
    if (!record_.has_steps()) return fail(interrupted_too_early());
    std::optional<WarmUp> warm = learn(std::move(cautious), std::move(*trace), request_.costs);
    record_samples(*warm);
    if (stop_) return interrupted_in_warm_up(*warm);
    auto chosen = change_over(*warm);
    if (stop_) return interrupted_in_warm_up(*warm);
    if (!chosen) return give_up(warm->plan, chosen.error());
    warm.reset();  // its events are not needed any more
    ::malloc_trim(0);
    return run_chosen(std::move(*chosen));
  }

  void note_others(double share) {
    if (share <= kDisturbingShare) return;
    const std::string text = fmt::format(
        "others used {:.0f} % of the CPU during the warm-up: what it measured, and the prediction, are too slow",
        100 * share);
    announce(text);
    record_.log(Nanoseconds(0), "warning", text);
  }

  void record_samples(const WarmUp& warm) {
    std::vector<CostSample> samples;
    for (const Sample& sample : warm.samples)
      samples.push_back({to_text(sample.key), sample.duration, sample.plan_digest});
    record_->add_cost_samples(std::move(samples));
  }

  /// Plans under what was learned, and carries the state over. Where no plan but the warm-up's fits, that one stays.
  Result<ChosenPlan> change_over(const WarmUp& warm) {
    auto chosen = choose(*warm.calibration.model, warm.odds);
    if (!chosen && is_free_to_choose() && chosen.error().kind == ErrorKind::kInfeasible) return stay(warm, chosen.error());
    if (!chosen || chosen->digest == warm.trace.plan_digest) return chosen;
    const auto change = plan_change(warm.plan, chosen->plan, done_, *warm.calibration.model);
    if (!change && is_free_to_choose() && change.error().kind == ErrorKind::kInfeasible) return stay(warm, change.error());
    if (!change) return fail(change.error());
    const RoomQuestion room{.first_step = done_, .begun = true, .held = drive_data(warm.plan), .data = mark_};
    if (const auto fits = check_room(request_, {&chosen->plan, 1}, room); !fits) return fail(fits.error());
    if (const auto carried = carry_over(*change, chosen->plan); !carried) return fail(carried.error());
    return chosen;
  }

  Result<ChosenPlan> stay(const WarmUp& warm, const Error& reason) {
    announce("going on with the cautious plan: " + reason.what);
    record_.log(Nanoseconds(0), "warning", "the cautious plan stays: " + reason.what);
    auto prediction = predict(warm.plan, *warm.calibration.model, warm.odds);
    if (!prediction) return fail(prediction.error());
    return ChosenPlan{warm.plan, warm.trace.plan_digest, std::move(*prediction), {}};
  }

  Result<void> carry_over(const PlanChange& change, const Plan& next) {
    const Plan& migration = change.migration.plan;
    if (change.migration.moved.count > 0) {
      announce(fmt::format("moving {} to the new layout, predicted to take {}", to_text(change.migration.moved),
                           to_text(change.predicted_time())));
      record_->add_plan("migration", migration);
      record_->add_trace({.name = "predicted migration", .body = kMigrateBody, .trace = change.predicted});
    }
    auto measured = executor_->migrate(migration, next);
    if (!measured) return fail(measured.error());
    changed_ = {.moved = change.migration.moved, .after_steps = done_, .predicted = change.predicted_time(), .measured = {}};
    if (!measured->steps.empty()) {
      changed_->measured = measured->steps.back().end;
      measured->plan_digest = change.predicted.plan_digest;
      record_->add_trace({.name = "migration", .body = kMigrateBody, .trace = std::move(*measured)});
    }
    announce(to_text(*changed_));
    record_.log(Nanoseconds(0), "info", to_text(*changed_));
    return {};
  }

  /// The steps of the warm-up are not lost when the rest cannot run.
  Result<RunOutcome> give_up(const Plan& plan, const Error& error) {
    if (const auto saved = save(plan); !saved) return fail(saved.error());
    return fail(record_.with_checkpoint(error));
  }

  Result<RunOutcome> interrupted_in_warm_up(const WarmUp& warm) {
    if (const auto saved = save(warm.plan); !saved) return fail(saved.error());
    note_interruption();
    RunOutcome outcome{.plan = warm.plan, .prediction = {}, .measured = {}, .steps = std::move(steps_)};
    outcome.not_compared = "interrupted in the warm-up";
    outcome.interrupted = true;
    outcome.checkpoint = request_.trial ? std::string() : checkpoint_of(request_.output);
    return outcome;
  }

  void note_interruption() {
    record_.log(Nanoseconds(0), "warning", fmt::format("interrupted after {} of {} steps", done_, request_.schedule.end_step));
  }

  Result<RunOutcome> run_chosen(ChosenPlan chosen) {
    record_->add_plan("run", chosen.plan);
    record_->add_trace({.name = "predicted", .trace = chosen.prediction.trace});
    auto safety = predict_safety(request_, {&chosen.plan, 1}, chosen.prediction.step, *executor_);
    if (!safety) return fail(safety.error());
    safety_ = std::move(*safety);
    announce(fmt::format("training: steps {} to {}", done_ + 1, request_.schedule.end_step));
    auto trace = train_until(request_.schedule.end_step, chosen.plan, "run");
    if (!trace) return fail(trace.error());
    if (!record_.has_steps()) return fail(interrupted_too_early());
    if (const auto saved = save(chosen.plan); !saved) return fail(saved.error());
    if (interrupted()) note_interruption();
    if (!request_.save.empty()) announce("saving what was trained to " + request_.save);
    if (const auto saved = save_trained(*executor_, request_); !saved) return fail(saved.error());
    return finish(std::move(chosen), std::move(*trace));
  }

  void note_skip(const StepSummary& step) {
    const std::string why = step.loss_scale > 0
                                ? fmt::format("its gradients overflowed at a loss scale of {:g}", step.loss_scale)
                                : fmt::format("its loss is {}, its gradient norm {}", step.loss, step.gradient_norm);
    record_.log(step.end, "info", fmt::format("step {} skipped: {}", step.step + 1, why));
  }

  void warn(Nanoseconds at, const std::string& text) {
    record_.log(at, "warning", text);
    if (watcher_.on_warning) watcher_.on_warning(text);
  }

  [[nodiscard]] bool interrupted() const { return done_ < request_.schedule.end_step; }

  [[nodiscard]] TrainSchedule schedule_until(std::int64_t until) const {
    TrainSchedule schedule = request_.schedule;
    schedule.first_step = done_;
    schedule.until_step = until;
    const bool warms_up = until < schedule.end_step;  // and is traced whole, to learn from
    if (request_.backend == Backend::kCuda && !warms_up) schedule.traced_steps = traced_on_device(schedule.traced_steps, until - done_);
    if (!request_.trial) schedule.states = state_files_of(request_.output);
    schedule.data = mark_;
    if (request_.recipe.adapter.exists()) schedule.base = request_.init;
    return schedule;
  }

  /// Where no step was done since the last checkpoint there is nothing to save.
  Result<void> save(const Plan& plan) {
    if (saved_ == done_) return {};
    return StateKeeper(plan, *executor_, schedule_until(0), checkpoint_watcher()).save_checkpoint(done_);
  }

  /// With --durability step the state that the training begins with is on the disk before its first step.
  Result<void> begin_steps(const Plan& plan) {
    if (request_.schedule.durability != Durability::kStep || record_.has_promised()) return {};
    announce("writing the state to both files of --durability step");
    const auto begun = StateKeeper(plan, *executor_, schedule_until(0), {}).begin_steps(done_);
    if (begun) record_.promise(done_);
    return begun;
  }

  void add_spent(const SavedState& state) {
    safety_spent_.add(state);
    if (const auto foretold = safety_spent_.foretold()) {
      announce(fmt::format("each state takes {}, by the first {}", to_text(*foretold), SafetySpent::kFirst));
    }
  }

  TrainWatcher checkpoint_watcher() {
    TrainWatcher watcher;
    watcher.on_saved = [this](const SavedState& state) {
      record_.promise(state.steps_done);
      if (state.of_step == (request_.schedule.durability == Durability::kStep)) add_spent(state);
      if (state.of_step) return;
      saved_ = state.steps_done;
      record_.add_checkpoint(state);
    };
    return watcher;
  }

  /// Trains with the plan that the executor has; what happens goes into the trace `name` of the run file.
  Result<Trace> train_until(std::int64_t until, const Plan& plan, const std::string& name) {
    const std::string digest = plan_digest(plan);
    const StoredTraceId stored =
        record_->add_trace({.name = name, .trace = {.plan_digest = digest, .source = executor_->source()}});
    record_->flush_to_disk();  // what the run is stands in its file before the first step: a killed one can be resumed
    if (const auto begun = begin_steps(plan); !begun) return fail(begun.error());
    TrainWatcher watcher = checkpoint_watcher();
    watcher.on_step = [&](const StepSummary& step) {
      record_.add_step(stored, step);
      for (const RunWarning& warning : executor_->take_warnings()) warn(step.end, with_offer(request_, warning));
      if (const auto shortage = memory_->look()) warn(step.end, *shortage);
      if (step.skipped) note_skip(step);
      if (watcher_.on_step) watcher_.on_step(step, request_.schedule.end_step);
    };
    watcher.on_events = [&](const std::vector<TraceEvent>& events) { record_->add_events(stored, events); };
    watcher.on_evaluation = [&](std::int64_t done, const HeldOut& found) {
      record_->add_evaluation({static_cast<std::uint32_t>(done), found.loss});
      if (found.right) {
        record_.log(Nanoseconds(0), "info", fmt::format("{:.2f} % right after {} steps", 100 * *found.right, done));
      }
      evaluations_.emplace_back(done, found);
      if (watcher_.on_evaluation) watcher_.on_evaluation(done, found);
    };
    const TrainSchedule schedule = schedule_until(until);
    memory_.emplace(request_, plan);
    auto trace = train(plan, *executor_, *batches_, evaluation_.get(), schedule, watcher, stop_);
    if (!trace) return trace;
    done_ += static_cast<std::int64_t>(trace->steps.size());
    steps_.insert(steps_.end(), trace->steps.begin(), trace->steps.end());
    trace->plan_digest = digest;
    if (trace->is_of_device()) record_->add_steps(stored, trace->steps);  // a traced one ends with its last event, told of later
    add_measured_categories(plan, *trace);
    record_->add_peaks(stored, trace->peaks);
    if (request_.backend == Backend::kCpu && until == schedule.end_step)  // a GPU's arena is not this process's memory
      process_ = compare_process(plan, *trace, schedule);
    if (process_)
      record_->add_memory(process_samples(*process_, trace->steps.empty() ? Nanoseconds(0) : trace->steps.back().end));
    return trace;
  }

  Result<RunOutcome> finish(ChosenPlan chosen, Trace trace) {
    RunOutcome outcome{.plan = std::move(chosen.plan),
                       .prediction = std::move(chosen.prediction),
                       .measured = std::move(trace),
                       .steps = std::move(steps_),
                       .evaluations = std::move(evaluations_),
                       .changed = changed_};
    outcome.safety = safety_;
    if (outcome.safety) safety_spent_.put_into(*outcome.safety);
    outcome.interrupted = interrupted();
    outcome.checkpoint = request_.trial ? std::string() : checkpoint_of(request_.output);
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
  std::unique_ptr<BatchSource> batches_;
  std::unique_ptr<BatchSource> evaluation_;
  DataMark mark_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<DriveFolderLock> drive_lock_;
  std::optional<RunFileLock> lock_;  // before the file, which goes first
  TrainingRecord record_;
  std::optional<ComparedProcess> process_;
  std::optional<ChangedPlan> changed_;
  std::vector<StepSummary> steps_;  ///< all that were done
  std::vector<std::pair<std::int64_t, HeldOut>> evaluations_;
  std::int64_t done_ = 0;
  std::int64_t saved_ = 0;  ///< steps that the last checkpoint holds, the one that the run began with counted
  std::optional<SafetyAnswer> safety_;
  SafetySpent safety_spent_;
  std::optional<HostMemory> memory_;
};

}  // namespace

DriveOptions drive_of(const RunRequest& request) {
  DriveOptions drive = request.drive;
  drive.checksums = request.schedule.durability != Durability::kNone;
  return drive;
}

Result<RunOutcome> run_session(const RunRequest& request, const RunWatcher& watcher, const std::atomic<bool>& stop) {
  return Session(request, watcher, stop).run();
}

}  // namespace plimsoll
