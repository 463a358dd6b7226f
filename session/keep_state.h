#pragma once

#include <chrono>

#include "formats/models/safetensors_writer.h"
#include "session/train.h"

namespace plimsoll {

/// Keeps what was trained on the disk, as a schedule says; for one executor. What it writes it tells the watcher. A disk that
/// fails throws EnvironmentError.
class StateKeeper {
 public:
  /// Keeps references.
  StateKeeper(const Plan& plan, Executor& executor, const TrainSchedule& schedule, const TrainWatcher& watcher)
      : plan_(plan), executor_(executor), schedule_(schedule), watcher_(watcher) {}

  /// Writes the checkpoint, if the schedule names one; with --durability checkpoint the one before is kept beside it.
  Result<void> save_checkpoint(std::int64_t done);

  /// With --durability step: makes both of the step's files, whole and of full length, so that later steps need no room.
  Result<void> begin_steps(std::int64_t done);
  /// Puts the state after `done` steps over the older of the step's files, and returns when it is on the disk. The other file
  /// holds the step before until then.
  Result<void> commit_step(std::int64_t done);
  /// Gives the executor the state that was committed after `done` steps.
  Result<void> go_back_to(std::int64_t done);

 private:
  using Time = std::chrono::steady_clock::time_point;
  /// `begin`: since when it takes time.
  Result<void> write(const std::string& path, std::int64_t done, WritePlace place, bool of_step, Time begin);
  [[nodiscard]] const std::string& step_file(std::int64_t done) const {
    return schedule_.states.steps[static_cast<std::size_t>(done % 2)];
  }

  const Plan& plan_;
  Executor& executor_;
  const TrainSchedule& schedule_;
  const TrainWatcher& watcher_;
};

}  // namespace plimsoll
