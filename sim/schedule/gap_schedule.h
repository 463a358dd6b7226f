#pragma once

#include <cstdint>
#include <vector>

#include "core/schedule/pipeline_schedule.h"
#include "sim/schedule/stage_costs.h"

namespace plimsoll {

/// What a rank may hold, in micro-batches: what a forward adds until its input gradient and, of that, until its weight
/// gradient.
struct MemoryRule {
  double cap = 0;
  double kept_for_weights = 1;
};

/// What gap_schedule leaves open.
struct GapChoices {
  std::vector<std::uint32_t> ahead;  ///< of each rank: forwards ahead of input gradients, at least 1
  double lateness = 0;  ///< share of a weight gradient by which one that is put into a gap may hold up what comes next
  std::uint32_t prompt =
      0;  ///< the last so many input gradients of a rank are never held up: what is left waits for them
  bool gradient_first = false;  ///< an input gradient that can run goes before a forward that can

  bool operator==(const GapChoices&) const = default;
};

/// Orders of one stage a rank, and how long their ranks take from their first to their last op.
struct GapSchedule {
  std::vector<std::vector<PipelineOp>> orders;
  Ticks longest;
  Ticks together;
};

/// Runs the pipeline as a list schedule: each rank takes forwards up to `ahead`, then input gradients and forwards in
/// turn; while it waits for either, or when it has no room for a forward, it does the weight gradients that are due.
GapSchedule gap_schedule(const StageCosts& costs, std::uint32_t micro_batches, const MemoryRule& memory,
                         const GapChoices& choices);

}  // namespace plimsoll
