#pragma once

#include <QString>

#include <array>

#include "gui/theme/theme.h"
#include "gui/timeline/paint_lane.h"
#include "gui/timeline/place_strip.h"
#include "gui/timeline/work_class.h"

namespace plimsoll::gui {

/// The colour of every class and tone in a theme.
using WorkColours = std::array<Pixel, kPaints>;

WorkColours work_colours(const Theme& theme);

/// The colour of every PlaceState in a theme.
using PlaceColours = std::array<Pixel, kPlaceStates>;

PlaceColours place_colours(const Theme& theme);

/// The same, `share` of it over the ground.
WorkColours paler(const WorkColours& colours, Pixel ground, double share);

/// Black or white: what is read better on `ground`.
QColor text_on(const QColor& ground);

/// A class in the window's language.
QString work_name(WorkClass work);

/// A state in the window's language: "on its way to the device".
QString place_name(PlaceState state);

/// A queue in the window's language: "GPU compute"; an unknown one keeps its name.
QString track_name(const Plan* plan, const std::string& queue);

}  // namespace plimsoll::gui
