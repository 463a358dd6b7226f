#include "session/train.h"

#include <algorithm>

#include "executor/checkpoint/training_state.h"

namespace plimsoll {
namespace {

/// The next multiple of `every` after `step`, or `end`.
std::int64_t next_pause(std::int64_t step, std::int64_t every, std::int64_t end) {
  return every == 0 ? end : std::min(end, (step / every + 1) * every);
}

Nanoseconds end_of(const Trace& trace) { return trace.steps.empty() ? Nanoseconds(0) : trace.steps.back().end; }

StepSummary moved(StepSummary step, Nanoseconds shift) {
  step.start += shift;
  step.end += shift;
  return step;
}

void report(const TrainWatcher& watcher, const StepSummary& step) {
  if (watcher.on_step) watcher.on_step(step);
}

/// Appends a segment's trace, its times moved behind what is there, and tells of the events.
void append(Trace& whole, Trace part, const TrainWatcher& watcher) {
  const Nanoseconds shift = end_of(whole);
  for (TraceEvent& event : part.events) {
    event.start += shift;
    event.end += shift;
  }
  if (watcher.on_events && !part.events.empty()) watcher.on_events(part.events);
  whole.events.insert(whole.events.end(), part.events.begin(), part.events.end());
  for (const StepSummary& step : part.steps) whole.steps.push_back(moved(step, shift));
  whole.kind = part.kind;
  whole.source = std::move(part.source);
}

Result<void> evaluate(Executor& executor, const BatchSource& batches, const TrainSchedule& schedule,
                      std::int64_t done, const TrainWatcher& watcher) {
  const auto loss = executor.evaluate(batches, schedule.evaluation_batches);
  if (!loss) return fail(loss.error());
  if (watcher.on_evaluation) watcher.on_evaluation(done, *loss);
  return {};
}

}  // namespace

Result<void> save_checkpoint(const Plan& plan, Executor& executor, const TrainSchedule& schedule, std::int64_t done,
                             const TrainWatcher& watcher) {
  if (schedule.checkpoint.empty()) return {};
  const auto saved = save_training_state(schedule.checkpoint, plan.spec, plan.recipe, done,
                                         [&](TensorKind kind, GroupId group) { return executor.state(kind, group); },
                                         schedule.base);
  if (saved && watcher.on_checkpoint) watcher.on_checkpoint(done, schedule.checkpoint);
  return saved;
}

Result<Trace> train(const Plan& plan, Executor& executor, const BatchSource& batches, const BatchSource* evaluation,
                    const TrainSchedule& schedule, const TrainWatcher& watcher, const std::atomic<bool>& stop) {
  Trace whole;
  std::int64_t done = schedule.first_step;
  std::int64_t saved_at = schedule.first_step;
  const std::int64_t evaluate_every = evaluation != nullptr ? schedule.evaluate_every : 0;
  const std::int64_t until = schedule.until_step > 0 ? schedule.until_step : schedule.end_step;
  const std::int64_t traced_end = std::min(until, schedule.first_step + schedule.traced_steps);
  while (done < until && !stop) {
    const std::int64_t end = done < traced_end ? traced_end : until;
    const std::int64_t pause =
        std::min(next_pause(done, evaluate_every, end), next_pause(done, schedule.save_every, end));
    const Nanoseconds shift = end_of(whole);
    auto part = executor.run_steps({.first_step = done,
                                    .steps = pause - done,
                                    .first_traced_step = done < traced_end ? done : pause,
                                    .on_step = [&](const StepSummary& step) { report(watcher, moved(step, shift)); },
                                    .stop = &stop},
                                   batches);
    if (!part) return fail(part.error());
    done += static_cast<std::int64_t>(part->steps.size());
    append(whole, std::move(*part), watcher);
    const bool ends = done == schedule.end_step;
    if (evaluate_every > 0 && !stop && (done % evaluate_every == 0 || ends)) {
      if (const auto loss = evaluate(executor, *evaluation, schedule, done, watcher); !loss) return fail(loss.error());
    }
    if (!ends && schedule.save_every > 0 && done % schedule.save_every == 0) {
      if (const auto saved = save_checkpoint(plan, executor, schedule, done, watcher); !saved) return fail(saved.error());
      saved_at = done;
    }
  }
  if (done > saved_at && (stop || done == schedule.end_step)) {
    if (const auto saved = save_checkpoint(plan, executor, schedule, done, watcher); !saved) return fail(saved.error());
  }
  whole.peaks = executor.touched();
  return whole;
}

}  // namespace plimsoll
