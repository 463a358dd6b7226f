#pragma once

#include <vector>

#include "gui/timeline/event_details.h"
#include "gui/timeline/scene.h"

namespace plimsoll::gui {

/// "Weights", in the window's language.
QString strip_name(CurvePart part);

/// A stay of a chunk; its label is a PlaceState.
LaneEvent place_event(const TimelineScene& scene, const ScenePlace& place);

/// "Weights of block 12".
QString place_title(const TimelineScene& scene, const ScenePlace& place);

/// Where it is, since when and for how long, and how much of the shown step it spends in each state.
std::vector<DetailLine> place_details(const TimelineScene& scene, const ScenePlace& place);

}  // namespace plimsoll::gui
