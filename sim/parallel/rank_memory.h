#pragma once

#include "sim/parallel/stage_plan.h"
#include "sim/schedule/time_schedule.h"

namespace plimsoll {

/// What a device of each rank holds at its peak: states by ZeRO's stage, activations of the micro-batches that the
/// schedule has under way, and what the largest of its passes works with. Bubbles do not matter: a rank's own order
/// decides.
std::vector<RankMemory> rank_memory(const ParallelQuestion& question, const StagePieces& pieces,
                                    const std::vector<StageCostParts>& parts, const PipelineSchedule& schedule,
                                    const ScheduleTiming& timing);

}  // namespace plimsoll
