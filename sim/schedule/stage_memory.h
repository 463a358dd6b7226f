#pragma once

#include <cstdint>
#include <vector>

#include "core/schedule/pipeline_schedule.h"
#include "sim/schedule/time_schedule.h"

namespace plimsoll {

/// The most activations that each rank holds at once, in micro-batches of a full rank (a stage's are ranks ÷ stages).
/// They come at the begin of F and go at the end of B; of an I and a W, `kept_for_weights` (0 to 1) waits for W's end.
std::vector<double> peak_activations(const PipelineSchedule& schedule, const ScheduleTiming& timing,
                                     double kept_for_weights = 1);

/// The most versions of its weights that each rank holds at once.
std::vector<std::uint32_t> weight_versions(const PipelineSchedule& schedule);

/// The most weights that each rank holds at once, all stages and versions together, in weights of a full rank.
std::vector<double> weight_copies(const PipelineSchedule& schedule);

}  // namespace plimsoll
