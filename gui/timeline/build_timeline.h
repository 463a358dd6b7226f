#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/trace/trace.h"
#include "formats/runs/run_file.h"
#include "gui/timeline/timeline.h"

namespace plimsoll::gui {

/// Events up to which memory curves are worked out; a curve has two points a buffer and step.
inline constexpr std::size_t kMostEventsWithCurves = 2'000'000;

/// The timeline of a trace of the plan's body of that name. A track a queue, in the platform's order, also where nothing
/// ran. The trace's ids must be of the plan, which read_run_file and the simulator see to.
/// `recorded` is the memory that a run file has beside it, of a plan that allocates while it runs.
SharedTimeline build_timeline(std::shared_ptr<const Plan> plan, const Trace& trace, const std::string& body = "step",
                              const std::vector<MemorySample>& recorded = {});

/// The timeline of a trace in a run file; fails when the file has no plan of that trace, naming it.
Result<SharedTimeline> build_timeline(const RunFile& file, const NamedTrace& named, const std::string& path);

/// The events of steps [first, last] as a trace again, for what works on traces.
Trace trace_of_steps(const Timeline& timeline, std::uint32_t first, std::uint32_t last);

/// All of it as a trace again, with its peaks.
Trace whole_trace(const Timeline& timeline);

}  // namespace plimsoll::gui
