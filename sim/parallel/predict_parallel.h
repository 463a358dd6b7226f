#pragma once

#include <vector>

#include "core/platform/operating_system.h"
#include "sim/parallel/parallel_answer.h"
#include "sim/parallel/stage_pieces.h"

namespace plimsoll {

/// A rank that is slower than the others by a factor.
struct SlowRank {
  std::int64_t rank = 0;
  double factor = 1;
};

/// A training on a cluster.
struct ParallelQuestion {
  ModelSpec spec;
  Recipe recipe;  ///< its micro-batch and accumulation are the layout's
  ParallelLayout layout;
  BlockChoices choices;
  Cluster cluster;
  std::vector<SlowRank> slow;
  OperatingSystem os = OperatingSystem::kLinux;
  bool desktop = false;  ///< one of the GPUs drives one
  bool exact = false;  ///< simulate every rank, not one of each kind
};

/// Checks the layout and simulates a step. Data ranks that are alike are simulated once (folded) unless `exact` is
/// asked for; ranks that share a layer go at the pace of the slowest of them; a bucket of gradients is reduced when the
/// last data rank has it.
Result<ParallelAnswer> predict_parallel(const ParallelQuestion& question);

/// The same of a layout that was checked, with pieces that are known already.
Result<ParallelAnswer> predict_with(const ParallelQuestion& question, const StagePieces& pieces);

/// The same, faster: once a pipeline is warm, p more micro-batches add the same time again and again. Two steps with
/// few micro-batches are simulated and the rest is added in proportion; schedules that hold all micro-batches at once
/// are simulated as they are.
Result<ParallelAnswer> predict_steady(const ParallelQuestion& question, const StagePieces& pieces);

}  // namespace plimsoll
