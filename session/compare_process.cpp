#include "session/compare_process.h"

#include <algorithm>

#include "core/plan/expand.h"
#include "profiler/probe/process_memory.h"
#include "sim/memory/ledger.h"
#include "sim/memory/process_need.h"

namespace plimsoll {

std::optional<ComparedProcess> compare_process(const Plan& plan, const Trace& trace, const TrainSchedule& schedule) {
  const auto measured = process_memory();
  if (!measured) return std::nullopt;
  const auto ended = static_cast<std::int64_t>(trace.steps.size());  // of an interrupted run fewer than were to come
  const ProcessNeed need = process_need(plan, std::min(schedule.traced_steps, ended));
  return ComparedProcess{.measured = measured->anonymous,
                         .measured_events = events_kept(static_cast<std::int64_t>(trace.events.size())),
                         .arenas = need.arenas,
                         .events = need.events,
                         .program = need.program};
}

void add_measured_categories(const Plan& plan, Trace& trace) {
  const FlatBody body = expand(plan, *plan.body("step"));
  for (const SpacePeak& live : memory_peaks(plan, memory_ledger_of_run(plan, body, trace))) {
    for (SpacePeak& peak : trace.peaks) {
      if (peak.space == live.space) peak.by_category = live.by_category;
    }
  }
}

}  // namespace plimsoll
