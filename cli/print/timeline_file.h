#pragma once

#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "core/trace/trace.h"
#include "formats/runs/run_file.h"

namespace plimsoll {

/// Fails unless a run file can be written at `path`; an older one may be replaced.
Result<void> check_timeline_output(const std::string& path);

/// Writes a plan with its predicted trace and memory where show, export and the window open them. Throws EnvironmentError.
void write_timeline(const std::string& path, const std::string& command, const Plan& plan, const Trace& trace,
                    const std::vector<MemorySample>& memory);

}  // namespace plimsoll
