#pragma once

#include <vector>

#include "sim/parallel/stage_plan.h"
#include "sim/schedule/time_schedule.h"

namespace plimsoll {

/// A part of a rank's gradients, and when it is there.
struct GradientBucket {
  double ready = 0;
  double seconds = 0;  ///< of its collective
};

/// How much later the last backward passes begin and end than the schedule says, stage by stage, because collectives of gradients
/// beside them slow their kernels: the stage before waits for them. Nothing where no collective takes multiprocessors.
struct BackwardDelays {
  std::vector<double> begin, end;
};

BackwardDelays backward_delays(const ParallelQuestion& question, const std::vector<StageCostParts>& parts,
                               const PipelineSchedule& schedule, const ScheduleTiming& timing, double ticks_per_second);

/// The buckets of one rank in the order in which its stages end. Overlapped, they become ready one after another in the
/// last backward pass of their stage; otherwise with the rank's last op. Empty where nothing is reduced after the
/// passes: ZeRO-2 and 3 did it in every micro-batch.
std::vector<GradientBucket> gradient_buckets(const ParallelQuestion& question, const std::vector<StageCostParts>& parts,
                                             const std::vector<PipelineOp>& order, const std::vector<OpTime>& times,
                                             double ticks_per_second, const BackwardDelays& delays);

/// When the last of them is reduced: one after another, none before it is ready.
double reduced_at(const std::vector<GradientBucket>& buckets, double start);

}  // namespace plimsoll
