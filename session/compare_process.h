#pragma once

#include <optional>

#include "core/trace/compare_traces.h"
#include "session/train.h"

namespace plimsoll {

/// What this process has now, when the steps of `trace` have ended, against what was to be expected of one that runs
/// `plan` on such a schedule; nothing when the kernel does not tell.
std::optional<ComparedProcess> compare_process(const Plan& plan, const Trace& trace, const TrainSchedule& schedule);

/// Puts what lay at each peak of a measured trace beside it. High-water marks come from the arenas' canaries; what lay
/// there, from the buffers' lives as the trace timed them.
void add_measured_categories(const Plan& plan, Trace& trace);

}  // namespace plimsoll
