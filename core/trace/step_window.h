#pragma once

#include <cstdint>
#include <span>

#include "core/trace/trace.h"

namespace plimsoll {

/// The stretch of time that a step accounts for: from the end of the step before to its own end.
struct StepWindow {
  Nanoseconds begin;
  Nanoseconds end;
};

/// The window of step `step`; empty (0, 0) when the trace has no summary of it.
StepWindow step_window(const Trace& trace, std::uint32_t step);

/// The events of one step, by instruction id; empty when the step was not traced.
std::span<const TraceEvent> events_of_step(const Trace& trace, std::uint32_t step);

/// All events that can overlap the window of `step`: its own and those of later steps that began before it ended.
/// Earlier steps have none, because a window begins when they have ended.
std::span<const TraceEvent> events_around_step(const Trace& trace, std::uint32_t step);

}  // namespace plimsoll
