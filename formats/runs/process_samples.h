#pragma once

#include <optional>
#include <vector>

#include "core/trace/compare_traces.h"
#include "formats/runs/run_file.h"

namespace plimsoll {

/// A process's memory as samples of the space "process", at the moment when it was measured.
std::vector<MemorySample> process_samples(const ComparedProcess& process, Nanoseconds at);

/// What `process_samples` put among them; nothing when it is not there.
std::optional<ComparedProcess> process_in(const std::vector<MemorySample>& samples);

}  // namespace plimsoll
