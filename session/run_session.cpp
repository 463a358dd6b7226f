#include "session/run_session.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/plan/expand.h"
#include "executor/checkpoint/training_state.h"
#include "executor/checkpoint/weights_file.h"
#include "formats/run_file_writer.h"
#include "session/choose_plan.h"
#include "session/warm_up.h"
#include "sim/memory/ledger.h"

namespace plimsoll {
namespace {

void announce(const RunWatcher& watcher, const std::string& stage) {
  if (watcher.on_stage) watcher.on_stage(stage);
}

/// Runs one training from opened data to a closed run file.
class Session {
 public:
  Session(const RunRequest& request, const RunWatcher& watcher, const std::atomic<bool>& stop)
      : request_(request), watcher_(watcher), stop_(stop) {}

  Result<RunOutcome> run() {
    if (const auto opened = open_data(); !opened) return fail(opened.error());
    file_ = std::make_unique<RunFileWriter>(request_.output, request_.meta);
    auto outcome = run_with_file();
    if (!outcome) file_->add_log({Nanoseconds(0), "error", outcome.error().text()});
    file_->close();
    return outcome;
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

  Result<RunOutcome> run_with_file() {
    std::shared_ptr<const CostModel> costs = request_.costs;
    if (request_.warm_up_steps > 0) {
      announce(watcher_, fmt::format("warming up: {} profiled steps of a cautious plan", request_.warm_up_steps));
      const auto warm = warm_up(request_, *tokens_, stop_);
      if (!warm) return fail(warm.error());
      record_warm_up(*warm);
      costs = warm->calibration.model;
    }
    if (stop_) return fail({.kind = ErrorKind::kInterrupted, .what = "interrupted before the first step"});
    announce(watcher_, "planning");
    auto chosen = choose_plan(request_, *costs);
    if (!chosen) return fail(chosen.error());
    if (watcher_.on_plan) watcher_.on_plan(chosen->plan, chosen->prediction, chosen->candidates);
    return run_plan(std::move(*chosen));
  }

  void record_warm_up(const WarmUp& warm) {
    file_->add_plan("warm-up", warm.plan);
    file_->add_trace({.name = "warm-up", .trace = warm.trace});
    std::vector<CostSample> samples;
    for (const Sample& sample : warm.samples) samples.push_back({to_text(sample.key), sample.duration, sample.plan_digest});
    file_->add_cost_samples(std::move(samples));
  }

  /// Weights from the seed, a file, or a checkpoint; returns the first step.
  Result<std::int64_t> fill(CpuExecutor& executor) {
    const auto write = [&](TensorKind kind, GroupId group, std::span<const std::byte> bytes) {
      executor.set_state(kind, group, bytes);
    };
    executor.initialize();
    if (!request_.resume.empty()) return load_training_state(request_.resume, request_.spec, request_.recipe, write);
    if (request_.init.empty()) return 0;
    const auto loaded = load_weights(request_.init, request_.spec, request_.recipe.precision, write);
    if (!loaded) return fail(loaded.error());
    return 0;
  }

  Result<RunOutcome> run_plan(ChosenPlan chosen) {
    file_->add_plan("run", chosen.plan);
    file_->add_trace({.name = "predicted", .trace = chosen.prediction.trace});
    auto executor = CpuExecutor::create(chosen.plan, {.backend = "cpu"});
    if (!executor) return fail(executor.error());
    const auto first = fill(**executor);
    if (!first) return fail(first.error());
    if (*first >= request_.schedule.end_step) {
      return fail({.kind = ErrorKind::kInput,
                   .what = fmt::format("{} already holds {} steps", request_.resume, *first),
                   .where = {},
                   .remedy = "ask for more with --steps"});
    }
    auto trace = train_steps(chosen, **executor, *first);
    if (!trace) return fail(trace.error());
    if (!request_.save.empty()) {
      announce(watcher_, "saving weights to " + request_.save);
      const auto saved = save_weights(request_.save, request_.spec, request_.recipe.precision, request_.save_type,
                                      [&](TensorKind kind, GroupId group) { return (*executor)->state(kind, group); });
      if (!saved) return fail(saved.error());
    }
    return finish(std::move(chosen), std::move(*trace));
  }

  Result<Trace> train_steps(const ChosenPlan& chosen, CpuExecutor& executor, std::int64_t first) {
    TrainSchedule schedule = request_.schedule;
    schedule.first_step = first;
    schedule.checkpoint = request_.output + ".checkpoint.safetensors";
    announce(watcher_, fmt::format("training: steps {} to {}", first + 1, schedule.end_step));
    const StoredTraceId stored = file_->add_trace({.name = "run", .trace = {.plan_digest = chosen.digest, .source = "cpu"}});
    TrainWatcher watcher;
    watcher.on_step = [&](const StepSummary& step) {
      file_->add_steps(stored, {step});
      if (watcher_.on_step) watcher_.on_step(step, schedule.end_step);
    };
    watcher.on_evaluation = [&](std::int64_t done, double loss) {
      file_->add_evaluation({static_cast<std::uint32_t>(done), loss});
      if (watcher_.on_evaluation) watcher_.on_evaluation(done, loss);
    };
    watcher.on_checkpoint = [&](std::int64_t done, const std::string& path) {
      file_->add_checkpoint({static_cast<std::uint32_t>(done), path, numerics_digest(request_.spec, request_.recipe)});
    };
    auto trace = train(chosen.plan, executor, *tokens_, evaluation_.get(), schedule, watcher, stop_);
    if (!trace) return trace;
    trace->plan_digest = chosen.digest;
    add_measured_categories(chosen.plan, *trace);
    file_->add_events(stored, trace->events);
    file_->add_peaks(stored, trace->peaks);
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
    RunOutcome outcome{.plan = std::move(chosen.plan), .prediction = std::move(chosen.prediction), .measured = std::move(trace)};
    outcome.interrupted = stop_;
    outcome.checkpoint = request_.output + ".checkpoint.safetensors";
    auto comparison = compare_traces(outcome.plan, outcome.prediction.trace, outcome.measured);
    if (comparison) {
      outcome.comparison = std::move(*comparison);
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
  std::unique_ptr<RunFileWriter> file_;
};

}  // namespace

Result<RunOutcome> run_session(const RunRequest& request, const RunWatcher& watcher, const std::atomic<bool>& stop) {
  return Session(request, watcher, stop).run();
}

}  // namespace plimsoll
