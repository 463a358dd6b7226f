#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/expand.h"
#include "core/trace/trace.h"
#include "gui/timeline/event_lane.h"
#include "gui/timeline/memory_curve.h"
#include "gui/timeline/place_strip.h"
#include "gui/timeline/time_scale.h"
#include "gui/timeline/timeline_label.h"

namespace plimsoll::gui {

/// One queue: several lanes where its instructions run side by side.
struct TimelineTrack {
  std::string name;  ///< the queue's: "compute", "ssd.read"
  QueueKind kind = QueueKind::kCompute;
  std::vector<EventLane> lanes;
};

/// One step's stretch of time.
struct StepMark {
  std::uint32_t step = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// A trace as it is drawn. Never changes once built; shared between pages.
struct Timeline {
  std::string source;  ///< "simulated", or what ran it
  TraceKind kind = TraceKind::kPredicted;
  std::shared_ptr<const Plan> plan;  ///< null for a trace of no plan
  std::string body_name = "step";
  std::string plan_digest;
  FlatBody body;  ///< labels are its instruction ids
  std::vector<TimelineTrack> tracks;
  std::vector<std::string> names;  ///< each once
  std::vector<TimelineLabel> labels;
  std::vector<StepMark> steps;
  std::vector<StepMark> untraced;  ///< steps that kept no events, which are not drawn
  std::vector<MemoryCurve> curves;
  std::vector<PlaceStrip> strips;  ///< where the blocks' data is over time
  std::vector<TraceEvent> skipped;  ///< what a guard kept from running; in no lane
  std::vector<SpacePeak> peaks;     ///< as the trace tells them
  std::vector<std::string> calibrated_from;
  std::string no_curves_because;  ///< in words, when there are none
  TimeBounds bounds;

  [[nodiscard]] const std::string& name_of(std::uint32_t label) const { return names[labels[label].name]; }
  [[nodiscard]] std::size_t event_count() const;
  /// Memory of the events and what stands over them.
  [[nodiscard]] std::size_t event_bytes() const;
  /// The step that stands for the others: of a prediction the steady one, of a run that of median duration.
  [[nodiscard]] std::uint32_t typical_step() const;
  [[nodiscard]] const StepMark* step(std::uint32_t step) const;
};

using SharedTimeline = std::shared_ptr<const Timeline>;

/// One event of a timeline.
struct EventRef {
  std::uint32_t track = 0;
  std::uint32_t lane = 0;
  std::uint32_t index = 0;

  bool operator==(const EventRef&) const = default;
};

inline const EventLane& lane_of(const Timeline& timeline, const EventRef& ref) {
  return timeline.tracks[ref.track].lanes[ref.lane];
}
inline LaneEvent event_at(const Timeline& timeline, const EventRef& ref) { return lane_of(timeline, ref).at(ref.index); }

/// Where an instruction of a step stands, if it was traced.
std::optional<EventRef> find_event(const Timeline& timeline, std::uint32_t step, std::uint32_t instruction);

}  // namespace plimsoll::gui
