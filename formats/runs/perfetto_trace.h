#pragma once

#include <ostream>
#include <span>
#include <vector>

#include "formats/runs/run_file.h"

namespace plimsoll {

/// Writes traces of one plan as Perfetto's protobuf: a process a trace, a track for its steps and for each lane of its
/// queues, slices with the instruction's id, step, layer and bytes, flows from what was waited for to what waited, and
/// `memory` as counters. Times count from the first event. Field numbers: protos/perfetto/trace of Perfetto 47 and
/// newer.
void write_perfetto_trace(std::ostream& out, const Plan& plan, const std::vector<const NamedTrace*>& traces,
                          std::span<const MemorySample> memory = {});

}  // namespace plimsoll
