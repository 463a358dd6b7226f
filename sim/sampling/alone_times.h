#pragma once

#include <vector>

#include "core/plan/expand.h"
#include "core/trace/trace.h"

namespace plimsoll {

/// What an event would have taken alone.
struct AloneTime {
  Nanoseconds duration;
  bool contended = false;  ///< it was slowed during more than a twentieth of its time
};

/// For each event of the trace, the time that it would have taken had nothing else wanted what it uses: while others run beside it, it is
/// as fast as the simulator's shares of the plan's machine have it (FairShare). An event asks what its queue holds and, for a transfer,
/// what its link's path needs at the link's rate.
std::vector<AloneTime> alone_times(const Plan& plan, const FlatBody& body, const Trace& trace);

}  // namespace plimsoll
