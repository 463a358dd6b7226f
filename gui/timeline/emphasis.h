#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gui/timeline/find_events.h"
#include "gui/timeline/scene.h"

namespace plimsoll::gui {

/// What a scene shows in full colour while the rest is pale: a lane for each of its rows.
struct Emphasis {
  std::vector<EventLane> rows;

  [[nodiscard]] bool empty() const { return rows.empty(); }
};

/// The instructions that determine the end of step `step` of one source.
Emphasis critical_emphasis(const TimelineScene& scene, std::uint32_t source, std::uint32_t step);

/// The events that match in one source.
Emphasis search_emphasis(const TimelineScene& scene, std::uint32_t source, const EventQuery& query);

}  // namespace plimsoll::gui
