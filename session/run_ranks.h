#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "executor/collectives/job.h"
#include "session/run_session.h"
#include "sim/planner/ranks/rank_job.h"

namespace plimsoll {

/// A training on the ranks of a job.
struct RanksRequest {
  RunRequest run;    ///< as on one rank; its machine is the whole computer, and no strategy is looked for
  RankJob job;       ///< of as many ranks as the job that runs it; its platform is the whole computer's
  std::uint32_t device = 0;  ///< of the CUDA backend: this rank's GPU, by its number on its computer
  double cores = 0;  ///< that all ranks have together; 0: as the platform says
  double waits = 0;  ///< not 0: kernels do not compute but sleep so many times as long as they are expected to take; no
                     ///< state is kept
};

/// What one rank's memory came to.
struct RankBytes {
  Bytes planned;   ///< arenas
  Bytes measured;  ///< touched
};

/// What became of it. All of it is known on rank 0 only, but `interrupted`.
struct RanksOutcome {
  std::string what;  ///< the job in words
  std::vector<StepSummary> steps;
  std::vector<std::pair<std::int64_t, HeldOut>> evaluations;  ///< after so many steps
  std::string calibration;          ///< where the prediction's times are from
  Nanoseconds predicted, measured;  ///< time of a step after the warm-up
  double predicted_bubble = 0, measured_bubble = 0;
  std::vector<RankBytes> memory;  ///< by rank
  Link between;                    ///< what was measured between two ranks
  std::optional<SafetyAnswer> safety;  ///< with --durability
  bool interrupted = false;
  std::string checkpoint;  ///< where to resume from; empty when no state was kept
};

/// Asks all ranks whether they were started alike, lowers the plans of all of them, proves that they go together, runs this one's
/// and predicts the job's steps by simulating all plans together. Every rank of the job must call. Rank 0 decides when to stop,
/// keeps the training's state in one file as a run on one rank does, and writes the run file.
Result<RanksOutcome> run_ranks(const RanksRequest& request, Job& job, const RunWatcher& watcher, const std::atomic<bool>& stop);

}  // namespace plimsoll
