#pragma once

#include <string>

#include "sim/schedule/stage_memory.h"
#include "sim/schedule/time_schedule.h"

namespace plimsoll {

/// A schedule with all that is said about it.
struct TimedSchedule {
  PipelineSchedule schedule;
  StageCosts costs;
  ScheduleTiming timing;
  std::vector<double> peak_activations;
  std::vector<std::uint32_t> weight_versions;
  std::vector<double> weight_copies;
};

TimedSchedule time_and_weigh(PipelineSchedule schedule, StageCosts costs, double kept_for_weights);

/// The answer of `schedule --json`; `refusal` is what "error" holds, in JSON, or empty.
std::string schedule_json(const TimedSchedule& timed, const std::string& refusal);

/// The answer for people.
std::string schedule_text(const TimedSchedule& timed);

}  // namespace plimsoll
