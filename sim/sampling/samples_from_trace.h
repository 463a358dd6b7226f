#pragma once

#include <vector>

#include "core/plan/expand.h"
#include "core/trace/trace.h"
#include "sim/cost/sample.h"

namespace plimsoll {

/// The samples of a trace's typical steps (all events of a trace without step summaries), in the order of its events: what every launch,
/// transfer and host task that was measured exactly would have taken alone (alone_times; bounded and skipped events and markers give
/// none), and for every instruction that had to wait for another the gap between the moment it could have started and its start, as a
/// sample of its queue's issue overhead; of a device's queue without what tracing put there (Trace::marking). A sample that was slowed for
/// more than a twentieth of its time is marked contended, and the model prefers the others. The trace must be of this plan and body.
std::vector<Sample> samples_from_trace(const Plan& plan, const FlatBody& body, const Trace& trace);

}  // namespace plimsoll
