#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/durability.h"
#include "core/trace/trace.h"
#include "executor/checkpoint/state_files.h"
#include "executor/data/batch_source.h"
#include "executor/data/data_mark.h"
#include "executor/executor.h"

namespace plimsoll {

/// What a step does whose loss or gradient is not finite, where no loss scale deals with it.
enum class OnNan : std::uint8_t {
  kStop,    ///< the run fails and keeps what it saved before
  kSkip,    ///< the step updates nothing; needs Durability::kStep, which has the state before it
  kIgnore,  ///< nothing
};

/// How long to train, and where to stop for a moment.
struct TrainSchedule {
  std::int64_t first_step = 0;
  std::int64_t end_step = 0;
  std::int64_t until_step = 0;      ///< where this part of the training pauses; 0: nowhere before its end
  std::int64_t traced_steps = 64;   ///< the first so many keep their events; later ones only their summary
  std::int64_t evaluate_every = 0;  ///< 0: never
  std::int64_t evaluation_batches = 8;
  std::int64_t save_every = 0;  ///< 0: only when the training ends or is interrupted
  Durability durability = Durability::kNone;
  OnNan on_nan = OnNan::kStop;
  StateFiles states;            ///< no checkpoint is written where that has no name
  std::string base;             ///< weights of a frozen model, which checkpoints name instead of holding them
  DataMark data;                ///< which checkpoints name, so that none goes on with other data
};

/// How many of `steps` steps on a GPU, after the warm-up, keep their events where `asked` may: 16 at most and half of them, since
/// traced steps take longer and go by no graphs.
std::int64_t traced_on_device(std::int64_t asked, std::int64_t steps);

/// A training state that is on the disk now.
struct SavedState {
  std::int64_t steps_done = 0;
  std::string path;
  Bytes bytes;
  Nanoseconds took;
  bool of_step = false;  ///< or a checkpoint
};

/// Told of what happens, from the calling thread except `on_step`, which comes from the executor's.
struct TrainWatcher {
  std::function<void(const StepSummary&)> on_step;
  std::function<void(const std::vector<TraceEvent>&)> on_events;  ///< what was traced since the last pause
  std::function<void(std::int64_t steps_done, const HeldOut& found)> on_evaluation;
  std::function<void(const SavedState&)> on_saved;
};

/// Runs the steps of `schedule`, evaluating and saving in between, until its end, or this part's, or until `stop` turns
/// true. At the end, and when stopped, what was done is saved. With Durability::kStep a step is told of when its state
/// is on the disk; StateKeeper::begin_steps comes before. A step that OnNan::kStop ends the run for throws
/// EnvironmentError. The trace's times run on through the pauses' ends: pauses take no time in it.
Result<Trace> train(const Plan& plan, Executor& executor, const BatchSource& batches, const BatchSource* evaluation,
                    const TrainSchedule& schedule, const TrainWatcher& watcher, const std::atomic<bool>& stop);

}  // namespace plimsoll
