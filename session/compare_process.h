#pragma once

#include <optional>

#include "core/trace/compare_traces.h"
#include "session/train.h"

namespace plimsoll {

/// What this process has now, when the steps of `trace` have ended, against what was to be expected of one that runs
/// `plan` on such a schedule; nothing when the kernel does not tell.
std::optional<ComparedProcess> compare_process(const Plan& plan, const Trace& trace, const TrainSchedule& schedule);

}  // namespace plimsoll
