#pragma once

#include <vector>

#include "core/schedule/pipeline_schedule.h"
#include "sim/schedule/stage_costs.h"

namespace plimsoll {

/// When an op runs: [begin, end).
struct OpTime {
  Ticks begin;
  Ticks end;
};

/// When every op of a schedule runs, and what follows from it.
struct ScheduleTiming {
  std::vector<std::vector<OpTime>> ops;  ///< as PipelineSchedule::orders
  std::vector<Ticks> busy;               ///< of each rank: the sum of its ops
  std::vector<Ticks> span;               ///< of each rank: from the begin of its first op to the end of its last
  Ticks makespan;

  /// 1 − busy ÷ makespan, over all ranks.
  [[nodiscard]] double bubble_fraction() const;
  /// 1 − busy time ÷ the longest rank's span.
  [[nodiscard]] double bubble_rate() const;
};

/// Times a verified schedule: a rank runs its order one op at a time; a forward waits for that of the stage before, a
/// backward for its own forward and for the gradient of the stage after, each a hop later when it comes from another
/// rank; a weight gradient waits for its input gradient. Transfers take time and hold up nothing else.
ScheduleTiming time_schedule(const PipelineSchedule& schedule, const StageCosts& costs);

}  // namespace plimsoll
