#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/trace/trace.h"
#include "executor/executor.h"
#include "executor/data/batch_source.h"

namespace plimsoll {

/// How long to train, and where to stop for a moment.
struct TrainSchedule {
  std::int64_t first_step = 0;
  std::int64_t end_step = 0;
  std::int64_t until_step = 0;      ///< where this part of the training pauses; 0: nowhere before its end
  std::int64_t traced_steps = 64;   ///< the first so many keep their events; later ones only their summary
  std::int64_t evaluate_every = 0;  ///< 0: never
  std::int64_t evaluation_batches = 8;
  std::int64_t save_every = 0;  ///< 0: only when the training ends or is interrupted
  std::string checkpoint;       ///< empty: no checkpoint is written
  std::string base;             ///< weights of a frozen model, which checkpoints name instead of holding them
};

/// Told of what happens, from the calling thread except `on_step`, which comes from the executor's.
struct TrainWatcher {
  std::function<void(const StepSummary&)> on_step;
  std::function<void(const std::vector<TraceEvent>&)> on_events;  ///< what was traced since the last pause
  std::function<void(std::int64_t steps_done, const HeldOut& found)> on_evaluation;
  std::function<void(std::int64_t steps_done, const std::string& path)> on_checkpoint;
};

/// Writes the schedule's checkpoint, if it names one, and tells the watcher.
Result<void> save_checkpoint(const Plan& plan, Executor& executor, const TrainSchedule& schedule, std::int64_t done,
                             const TrainWatcher& watcher);

/// Runs the steps of `schedule`, evaluating and saving in between, until its end, or this part's, or until `stop` turns
/// true. At the end, and when stopped, what was done is saved. The trace's times run on through the pauses' ends: pauses
/// take no time in it.
Result<Trace> train(const Plan& plan, Executor& executor, const BatchSource& batches, const BatchSource* evaluation,
                    const TrainSchedule& schedule, const TrainWatcher& watcher, const std::atomic<bool>& stop);

}  // namespace plimsoll
