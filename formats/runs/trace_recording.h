#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/trace/recording.h"
#include "formats/runs/run_file.h"
#include "formats/runs/trace_waits.h"

namespace plimsoll {

/// A trace with its instructions written out, and where each of its events stands in a timeline.
struct TraceLayout {
  FlatBody body;
  QueueLanes lanes;
  std::vector<TraceWait> waits;
  std::vector<std::uint32_t> first_lane;  ///< of each queue, counted over all queues from 1

  [[nodiscard]] std::size_t lane_count() const {
    return lanes.count.empty() ? 0 : first_lane.back() + lanes.count.back() - 1;
  }
  [[nodiscard]] std::uint32_t lane_of(const Trace& trace, std::size_t event) const {
    return first_lane[body.list.instructions[trace.events[event].instruction].queue.index] + lanes.lane[event];
  }
};
TraceLayout lay_out_trace(const Plan& plan, const NamedTrace& named);

/// "predicted", "measured", …: how an event's times came about.
std::string_view status_text(EventStatus status);

/// Between which memories an event moves bytes, as CUPTI numbers them (0: none that CUPTI knows, an SSD's).
std::uint8_t copy_kind_of(const Plan& plan, const FlatBody& body, const Instruction& instruction);
/// "Memcpy HtoD (Pinned -> Device)"; other transfers by their queue.
std::string transfer_name(const Plan& plan, const FlatBody& body, const Instruction& instruction);

/// Traces of one plan as a profiler would have recorded them: every instruction that takes time is device work on the
/// stream of its lane (`device` 2k of GPU queues and 2k + 1 of others, of the k-th trace), steps are annotations
/// "ProfilerStep#n". One thread issues all of them beforehand, in the plan's order, without taking time, and records
/// and awaits events where work waited for another lane; so a replay knows what depends on what. Every lane begins with
/// a fill of no bytes and no duration.
Recording recording_of_traces(const Plan& plan, const std::vector<const NamedTrace*>& traces);

}  // namespace plimsoll
