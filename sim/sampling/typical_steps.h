#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "core/trace/trace.h"

namespace plimsoll {

/// The steps, by number, whose durations lie in the middle half. The first one, which warms caches and page tables up,
/// counts only when there are fewer than three. What their instructions took adds up to the median step, while a step
/// during which the computer was busy with something else says nothing about the next one.
std::set<std::uint32_t> typical_steps(const std::vector<StepSummary>& steps);

/// The steps of a trace that have events: on a GPU not all have.
std::vector<StepSummary> traced_steps(const Trace& trace);

}  // namespace plimsoll
