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
Result<PipelineSchedule> make_interleaved(const ScheduleRequest& request);
Result<PipelineSchedule> make_looped_bfs(const ScheduleRequest& request);
Result<PipelineSchedule> make_chimera(const ScheduleRequest& request);
Result<PipelineSchedule> make_zb_h1(const ScheduleRequest& request);
Result<PipelineSchedule> make_zb_h2(const ScheduleRequest& request);
Result<PipelineSchedule> make_zb_v(const ScheduleRequest& request);
Result<PipelineSchedule> make_v_half(const ScheduleRequest& request);
Result<PipelineSchedule> make_v_min(const ScheduleRequest& request);
Result<PipelineSchedule> make_dualpipe(const ScheduleRequest& request);
Result<PipelineSchedule> make_dualpipe_v(const ScheduleRequest& request);
Result<PipelineSchedule> make_hanayo(const ScheduleRequest& request);
Result<PipelineSchedule> make_bpipe(const ScheduleRequest& request);
Result<PipelineSchedule> search_schedule(const ScheduleRequest& request);

}  // namespace plimsoll
