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

/// The buckets of one rank in the order in which its stages end. Overlapped, they become ready one after another in the
/// last backward pass of their stage; otherwise with the rank's last op. Empty where nothing is reduced after the
/// passes: ZeRO-2 and 3 did it in every micro-batch.
std::vector<GradientBucket> gradient_buckets(const ParallelQuestion& question, const std::vector<StageCostParts>& parts,
                                             const std::vector<PipelineOp>& order, const std::vector<OpTime>& times,
                                             double ticks_per_second);

/// When the last of them is reduced: one after another, none before it is ready.
double reduced_at(const std::vector<GradientBucket>& buckets, double start);

}  // namespace plimsoll
