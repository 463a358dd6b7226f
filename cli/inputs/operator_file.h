#pragma once

#include <string>
#include <vector>

#include "cli/program/answered.h"
#include "core/base/result.h"
#include "core/trace/operator_trace.h"
#include "sim/replay/operator_schedule.h"

namespace plimsoll {

/// What an execution trace holds, in some lines: nodes by sort, storages, and with times how long it would take.
std::string operators_text(const OperatorTrace& trace, const OperatorSchedule* schedule);
/// The same as an object for --json.
std::string operators_json(const OperatorTrace& trace, const OperatorSchedule* schedule);

/// `replay TRACE` of a Chakra trace: its dependencies in simulated time.
Result<Answered> replay_operators(const std::string& file, const std::vector<ScaleRule>& scales, bool json);

}  // namespace plimsoll
