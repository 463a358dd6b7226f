#include "session/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "session/keep_state.h"

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
  whole.marking = part.marking;
}

Result<void> evaluate(Executor& executor, const BatchSource& batches, const TrainSchedule& schedule,
                      std::int64_t done, const TrainWatcher& watcher) {
  const auto loss = executor.evaluate(batches, schedule.evaluation_batches);
  if (!loss) return fail(loss.error());
  if (watcher.on_evaluation) watcher.on_evaluation(done, *loss);
  return {};
}

/// Whether the step's numbers are of use; where a loss scale skipped it, it has dealt with them.
bool is_sound(const StepSummary& step) {
  return step.skipped || (std::isfinite(step.loss) && std::isfinite(step.gradient_norm));
}

[[noreturn]] void throw_diverged(const StepSummary& step) {
  throw EnvironmentError({.kind = ErrorKind::kInfeasible,
                          .what = fmt::format("the training went astray: step {} has a loss of {} and a gradient norm of {}",
                                              step.step + 1, step.loss, step.gradient_norm),
                          .where = {},
                          .remedy = "lower --lr or set --clip; --on-nan skip leaves out such steps (with --durability step), "
                                    "--on-nan ignore goes on"});
}

/// The last step of a part, made durable before it is told of; one whose numbers are of no use leaves the state as it was.
Result<void> settle(StateKeeper& keeper, const TrainSchedule& schedule, StepSummary& step) {
  const std::int64_t before = step.step;
  if (!is_sound(step) && schedule.on_nan == OnNan::kStop) throw_diverged(step);
  if (!is_sound(step) && schedule.on_nan == OnNan::kSkip) {
    if (auto back = keeper.go_back_to(before); !back) return back;
    step.skipped = true;
  }
  return keeper.commit_step(before + 1);
}

/// Where the part of the training that begins at `done` pauses, at `end` at the latest.
std::int64_t pause_after(std::int64_t done, const TrainSchedule& schedule, std::int64_t evaluate_every, std::int64_t end) {
  if (schedule.durability == Durability::kStep) return done + 1;
  return std::min(next_pause(done, evaluate_every, end), next_pause(done, schedule.save_every, end));
}

/// Steps [done, pause), told of as they end, or when their state is on the disk.
Result<Trace> run_part(Executor& executor, const BatchSource& batches, RunSegment segment, StateKeeper& keeper,
                       const TrainSchedule& schedule, const std::function<void(const StepSummary&)>& tell) {
  const bool by_step = schedule.durability == Durability::kStep;
  segment.on_step = [&](const StepSummary& step) {
    if (by_step) return;
    if (!is_sound(step) && schedule.on_nan == OnNan::kStop) throw_diverged(step);
    tell(step);
  };
  auto part = executor.run_steps(segment, batches);
  if (!part || !by_step) return part;
  for (StepSummary& step : part->steps) {  // one, or none when it was stopped before
    if (auto settled = settle(keeper, schedule, step); !settled) return fail(settled.error());
    tell(step);
  }
  return part;
}

}  // namespace

std::int64_t traced_on_device(std::int64_t asked, std::int64_t steps) {
  constexpr std::int64_t kMost = 16;
  return std::min({asked, kMost, (steps + 1) / 2});
}

Result<Trace> train(const Plan& plan, Executor& executor, const BatchSource& batches, const BatchSource* evaluation,
                    const TrainSchedule& schedule, const TrainWatcher& watcher, const std::atomic<bool>& stop) {
  Trace whole;
  StateKeeper keeper(plan, executor, schedule, watcher);
  const bool by_step = schedule.durability == Durability::kStep;
  std::int64_t done = schedule.first_step;
  std::int64_t saved_at = schedule.first_step;
  const std::int64_t evaluate_every = evaluation != nullptr ? schedule.evaluate_every : 0;
  const std::int64_t until = schedule.until_step > 0 ? schedule.until_step : schedule.end_step;
  const std::int64_t traced_end = std::min(until, schedule.first_step + schedule.traced_steps);
  while (done < until && !stop) {
    const std::int64_t pause = pause_after(done, schedule, evaluate_every, done < traced_end ? traced_end : until);
    const Nanoseconds shift = end_of(whole);
    auto part = run_part(executor, batches,
                         {.first_step = done,
                          .steps = pause - done,
                          .fills = by_step || done == saved_at,  // as what goes on from that state does
                          .first_traced_step = done < traced_end ? done : pause,
                          .stop = &stop},
                         keeper, schedule, [&](const StepSummary& step) { report(watcher, moved(step, shift)); });
    if (!part) return fail(part.error());
    done += static_cast<std::int64_t>(part->steps.size());
    append(whole, std::move(*part), watcher);
    const bool ends = done == schedule.end_step;
    if (evaluate_every > 0 && !stop && (done % evaluate_every == 0 || ends)) {
      if (const auto loss = evaluate(executor, *evaluation, schedule, done, watcher); !loss) return fail(loss.error());
    }
    if (!ends && schedule.save_every > 0 && done % schedule.save_every == 0) {
      if (const auto saved = keeper.save_checkpoint(done); !saved) return fail(saved.error());
      saved_at = done;
    }
  }
  if (done > saved_at && (stop || done == schedule.end_step)) {
    if (const auto saved = keeper.save_checkpoint(done); !saved) return fail(saved.error());
  }
  whole.peaks = executor.touched();
  return whole;
}

}  // namespace plimsoll
