#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/expand.h"
#include "core/trace/trace.h"

namespace plimsoll {

/// Where each event of a trace is drawn: a wide queue's events that overlap lie in different lanes.
struct QueueLanes {
  std::vector<std::uint32_t> lane;   ///< of each event, in the trace's order
  std::vector<std::uint32_t> count;  ///< of each queue of the platform, at least 1
};

/// Gives each event the lowest lane of its queue that is free at its start; ties by the trace's order.
QueueLanes assign_lanes(const Plan& plan, const FlatBody& body, const Trace& trace);

}  // namespace plimsoll
