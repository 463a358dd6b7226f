#pragma once

#include <vector>

#include "core/plan/expand.h"
#include "core/trace/trace.h"
#include "formats/runs/queue_lanes.h"

namespace plimsoll {

/// Of two events of one trace, by their positions there: the second could not start before the first had ended.
struct TraceWait {
  std::size_t from = 0;
  std::size_t to = 0;

  bool operator==(const TraceWait&) const = default;
};

/// What the events of a trace waited for on other lanes, as the plan says: through markers, which take no time and are
/// no events of a timeline; of each lane only the event that ended last. Ordered by `to`. What the trace contradicts
/// (the first ended after the second began) is left out.
std::vector<TraceWait> trace_waits(const FlatBody& body, const Trace& trace, const QueueLanes& lanes);

/// Whether an event of that instruction is drawn: markers are places to depend on.
bool takes_time(const Instruction& instruction);

}  // namespace plimsoll
