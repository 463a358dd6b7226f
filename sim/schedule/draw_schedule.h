#pragma once

#include <string>

#include "sim/schedule/time_schedule.h"

namespace plimsoll {

/// The schedule over time, a line a rank, within `columns`: ops as "F3", padded with '-' to their length, '.' where a
/// rank idles. Stages after a rank's first are written in small letters. When there is no room for numbers, a column
/// shows only what the rank does in the middle of its time.
std::string draw_text(const PipelineSchedule& schedule, const ScheduleTiming& timing, std::size_t columns);

/// The same as a picture (SVG 1.1): forwards blue, backwards green, input gradients light green, weight gradients
/// orange; stages after a rank's first are darker.
std::string draw_svg(const PipelineSchedule& schedule, const StageCosts& costs, const ScheduleTiming& timing);

}  // namespace plimsoll
