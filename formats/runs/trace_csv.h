#pragma once

#include <ostream>
#include <vector>

#include "formats/runs/run_file.h"

namespace plimsoll {

/// Writes traces of one plan as a table (RFC 4180), an event a row, ordered by trace, step and instruction: trace,
/// kind, step, id, name, queue, lane, phase, layer, micro_batch, start_ns, end_ns, bytes, status.
void write_trace_csv(std::ostream& out, const Plan& plan, const std::vector<const NamedTrace*>& traces);

}  // namespace plimsoll
