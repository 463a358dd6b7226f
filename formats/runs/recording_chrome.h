#pragma once

#include <ostream>

#include "core/trace/recording.h"

namespace plimsoll {

/// Writes what another profiler recorded in the JSON that chrome://tracing and Perfetto open, in Kineto's words:
/// read_recording reads the same work, calls, waits, ranges and allocations back. Devices are processes beyond those of
/// the host.
void write_recording_chrome(std::ostream& out, const Recording& recording);

/// One row a kernel, copy, fill, call, wait and range, with times in nanoseconds.
void write_recording_csv(std::ostream& out, const Recording& recording);

}  // namespace plimsoll
