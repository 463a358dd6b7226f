#pragma once

#include <ostream>
#include <span>
#include <vector>

#include "formats/runs/run_file.h"

namespace plimsoll {

/// Writes traces of one plan in the JSON that chrome://tracing and Perfetto open: a process for each trace, a thread
/// for each queue (several where a wide queue runs instructions side by side), times in microseconds with nanoseconds
/// behind the point. `memory` becomes counters of a process of its own. The traces' ids must be of the plan.
void write_chrome_trace(std::ostream& out, const Plan& plan, const std::vector<const NamedTrace*>& traces,
                        std::span<const MemorySample> memory = {});

}  // namespace plimsoll
