#pragma once

#include <span>

#include "core/schedule/pipeline_schedule.h"
#include "sim/schedule/schedule_request.h"

namespace plimsoll {

/// How many stages a rank of a schedule may have.
struct ChunkRule {
  std::uint32_t standard = 1;
  std::uint32_t least = 1;
  std::uint32_t most = 1;
  std::uint32_t step = 1;
};

/// A published schedule: its name, what it is, and how its orders are made.
struct ScheduleKind {
  const char* name;
  const char* about;
  ChunkRule chunks;
  Result<PipelineSchedule> (*make)(const ScheduleRequest& request);
};

/// All schedules that have a name.
std::span<const ScheduleKind> schedule_kinds();

/// The one of that name; refuses others with the names that are near.
Result<const ScheduleKind*> find_schedule_kind(const std::string& name);

/// The orders of the schedule asked for. Refuses an unknown name and sizes that the schedule does not have, with the
/// nearest ones that it has.
Result<PipelineSchedule> make_schedule(const ScheduleRequest& request);

/// Refuses counts of ranks of the stages that are not of this request, naming --stage-replicas.
Result<void> check_replicas(const ScheduleRequest& request);

}  // namespace plimsoll
