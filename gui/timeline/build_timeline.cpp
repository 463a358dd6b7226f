#include "gui/timeline/build_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/plan/transfers.h"
#include "formats/plans/instruction_text.h"
#include "formats/runs/queue_lanes.h"
#include "gui/timeline/work_class.h"
#include "sim/memory/ledger.h"
#include "sim/stack/lowering/allocation_events.h"

namespace plimsoll::gui {
namespace {

/// Whether a copy ends on a device.
bool to_device(const Plan& plan, const FlatBody& body, const Instruction& instruction) {
  if (instruction.kind != InstructionKind::kCopy) return false;
  for (const Use& use : body.uses(instruction)) {
    if (writes(use.access)) return plan.platform.at(plan.buffers[use.target].space).kind == SpaceKind::kDevice;
  }
  return false;
}

/// "adamw", "copy parameters": a transfer is named after what it carries.
std::string shown_name(const Plan& plan, const FlatBody& body, const Instruction& instruction) {
  std::string name(instruction_name(plan, instruction));
  const bool transfer = is_transfer(instruction.kind);
  if (transfer && instruction.use_count > 0) {
    name += fmt::format(" {}", to_text(plan.buffers[body.uses(instruction)[0].target].category));
  }
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

void add_labels(Timeline& timeline) {
  const Plan& plan = *timeline.plan;
  std::map<std::string, std::uint32_t> known;
  for (const Instruction& instruction : timeline.body.list.instructions) {
    const std::string name = shown_name(plan, timeline.body, instruction);
    const auto [entry, is_new] = known.emplace(name, static_cast<std::uint32_t>(timeline.names.size()));
    if (is_new) timeline.names.push_back(name);
    const WorkClass work = work_class(plan, instruction, to_device(plan, timeline.body, instruction));
    timeline.labels.push_back({entry->second, paint_index(work, work_tone(plan, instruction))});
  }
}

void add_tracks(Timeline& timeline, const Trace& trace) {
  const QueueLanes lanes = assign_lanes(*timeline.plan, timeline.body, trace);
  for (std::size_t q = 0; q < timeline.plan->platform.queues.size(); ++q) {
    const Queue& queue = timeline.plan->platform.queues[q];
    timeline.tracks.push_back({queue.name, queue.kind, std::vector<EventLane>(lanes.count[q])});
  }
  for (std::size_t e = 0; e < trace.events.size(); ++e) {
    const TraceEvent& event = trace.events[e];
    if (event.status == EventStatus::kSkipped) {
      timeline.skipped.push_back(event);
      continue;
    }
    TimelineTrack& track = timeline.tracks[timeline.body.list.instructions[event.instruction].queue.index];
    track.lanes[lanes.lane[e]].add({event.start.count, event.end.count, event.instruction, event.step});
  }
  for (TimelineTrack& track : timeline.tracks) {
    for (EventLane& lane : track.lanes) lane.finish();
  }
}

void add_bounds(Timeline& timeline, const Trace& trace) {
  std::int64_t begin = INT64_MAX;
  std::int64_t end = INT64_MIN;
  for (const TraceEvent& event : trace.events) {
    begin = std::min(begin, event.start.count);
    end = std::max(end, event.end.count);
  }
  if (begin > end) begin = end = 0;
  timeline.bounds = {static_cast<double>(begin), static_cast<double>(std::max(end, begin + 1))};
}

/// Summaries are kept of every step, events of traced ones only.
void add_steps(Timeline& timeline, const Trace& trace) {
  std::vector<std::uint32_t> traced;
  for (const TraceEvent& event : trace.events) {
    if (traced.empty() || traced.back() != event.step) traced.push_back(event.step);
  }
  for (const StepSummary& summary : trace.steps) {
    const bool kept = std::binary_search(traced.begin(), traced.end(), summary.step);
    (kept ? timeline.steps : timeline.untraced).push_back({summary.step, summary.start.count, summary.end.count});
  }
}

void add_curves(Timeline& timeline, const Trace& trace) {
  if (timeline.body_name != "step") {
    timeline.no_curves_because = "memory is drawn for training steps only";
  } else if (trace.events.empty()) {
    timeline.no_curves_because = "no step was traced";
  } else if (trace.events.size() > kMostEventsWithCurves) {
    timeline.no_curves_because = "the trace is too long for a memory curve";
  } else {
    timeline.curves = memory_curves(*timeline.plan, memory_ledger_of_run(*timeline.plan, timeline.body, trace));
    timeline.strips = place_strips(*timeline.plan, timeline.body, trace);
  }
}

}  // namespace

SharedTimeline build_timeline(std::shared_ptr<const Plan> plan, const Trace& trace, const std::string& body,
                              const std::vector<MemorySample>& recorded) {
  auto timeline = std::make_shared<Timeline>();
  timeline->source = trace.source;
  timeline->kind = trace.kind;
  timeline->plan_digest = trace.plan_digest;
  timeline->peaks = trace.peaks;
  timeline->calibrated_from = trace.calibrated_from;
  timeline->body_name = body;
  timeline->plan = std::move(plan);
  if (const Body* found = timeline->plan->body(body)) timeline->body = expand(*timeline->plan, *found);
  add_labels(*timeline);
  add_tracks(*timeline, trace);
  add_bounds(*timeline, trace);
  add_steps(*timeline, trace);
  if (recorded.empty()) add_curves(*timeline, trace);
  else timeline->curves = recorded_curves(*timeline->plan, recorded);
  return timeline;
}

Result<SharedTimeline> build_timeline(const RunFile& file, const NamedTrace& named, const std::string& path) {
  const Plan* plan = file.plan(named.trace.plan_digest);
  if (plan == nullptr) {
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("the run file has no plan of its trace '{}'", named.name),
                 .where = path,
                 .remedy = "run or simulate again; the file was not made by plimsoll run"});
  }
  if (named.trace.events.empty()) {
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("no step of the trace '{}' was traced", named.name),
                 .where = path,
                 .remedy = "run it again to its end"});
  }
  const bool recorded = allocates_while_running(*plan);  // a plan's own buffers are known without
  return build_timeline(std::make_shared<const Plan>(*plan), named.trace, named.body, recorded ? file.memory : std::vector<MemorySample>{});
}

Trace whole_trace(const Timeline& timeline) {
  Trace trace = trace_of_steps(timeline, 0, 0xffffffffu);
  for (const StepMark& mark : timeline.untraced)
    trace.steps.push_back({.step = mark.step, .start = Nanoseconds(mark.begin), .end = Nanoseconds(mark.end)});
  std::sort(trace.steps.begin(), trace.steps.end(), [](const StepSummary& a, const StepSummary& b) { return a.step < b.step; });
  trace.peaks = timeline.peaks;
  trace.calibrated_from = timeline.calibrated_from;
  return trace;
}

Trace trace_of_steps(const Timeline& timeline, std::uint32_t first, std::uint32_t last) {
  Trace trace{.kind = timeline.kind, .plan_digest = timeline.plan_digest, .source = timeline.source};
  const EventStatus status = timeline.kind == TraceKind::kPredicted ? EventStatus::kPredicted : EventStatus::kMeasured;
  for (const TimelineTrack& track : timeline.tracks) {
    for (const EventLane& lane : track.lanes) {
      for (std::size_t i = 0; i < lane.size(); ++i) {
        if (lane.step(i) < first || lane.step(i) > last) continue;
        trace.events.push_back({lane.step(i), lane.label(i), Nanoseconds(lane.start(i)), Nanoseconds(lane.end(i)), status});
      }
    }
  }
  for (const TraceEvent& event : timeline.skipped) {
    if (event.step >= first && event.step <= last) trace.events.push_back(event);
  }
  for (const StepMark& mark : timeline.steps) {
    if (mark.step < first || mark.step > last) continue;
    trace.steps.push_back({.step = mark.step, .start = Nanoseconds(mark.begin), .end = Nanoseconds(mark.end)});
  }
  std::sort(trace.events.begin(), trace.events.end(), [](const TraceEvent& a, const TraceEvent& b) {
    return std::pair(a.step, a.instruction) < std::pair(b.step, b.instruction);
  });
  return trace;
}

}  // namespace plimsoll::gui
