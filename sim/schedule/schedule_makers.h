#pragma once

#include "core/schedule/pipeline_schedule.h"
#include "sim/schedule/schedule_request.h"

namespace plimsoll {

/// Each makes the orders of the schedule of that name; `request.chunks` is set and allowed.
Result<PipelineSchedule> make_naive(const ScheduleRequest& request);
Result<PipelineSchedule> make_gpipe(const ScheduleRequest& request);
Result<PipelineSchedule> make_1f1b(const ScheduleRequest& request);
Result<PipelineSchedule> make_pipedream(const ScheduleRequest& request);
Result<PipelineSchedule> make_2bw(const ScheduleRequest& request);

}  // namespace plimsoll
