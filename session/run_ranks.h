#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "executor/collectives/job.h"
#include "session/run_session.h"
#include "sim/planner/ranks/rank_job.h"

namespace plimsoll {

/// A training on the ranks of a job.
struct RanksRequest {
  RankJob job;  ///< of as many ranks as the job that runs it; its platform is the whole computer's
  std::shared_ptr<const CostModel> costs;
  std::int64_t steps = 0;
  std::int64_t warm_up_steps =
      8;             ///< the first steps (half at most), from whose times the prediction is made; 0: it trusts `costs`
  double waits = 0;  ///< not 0: kernels do not compute but sleep so many times as long as they are expected to take
  std::string data;
  std::string init;  ///< weights to start from; may be empty
  HeadWeights head = HeadWeights::kStored;
  std::string output;  ///< the run file that rank 0 writes
  bool replace = false;
  RunMeta meta;
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
  std::string calibration;          ///< where the prediction's times are from
  Nanoseconds predicted, measured;  ///< time of a step after the warm-up
  double predicted_bubble = 0, measured_bubble = 0;
  std::vector<RankBytes> memory;  ///< by rank
  Link between;                    ///< what was measured between two ranks
  bool interrupted = false;
};

/// Lowers the plans of all ranks, proves that they go together, asks all ranks whether theirs are the same, runs this one's and
/// predicts the job's steps by simulating all plans together. Every rank of the job must call. Rank 0 decides when to stop.
Result<RanksOutcome> run_ranks(const RanksRequest& request, Job& job, const RunWatcher& watcher, const std::atomic<bool>& stop);

}  // namespace plimsoll
