#pragma once

#include <string>
#include <vector>

#include "gui/timeline/time_scale.h"

namespace plimsoll::gui {

/// The distance of an axis' ticks in nanoseconds: the smallest of 1, 2, 5 times a power of ten that takes `least_pixels`.
double tick_distance(const TimeScale& scale, double least_pixels);

/// Multiples of `distance` that the scale shows.
std::vector<double> tick_times(const TimeScale& scale, double distance);

/// "1,205 ms": the time in the unit of the distance, so that neighbours differ by whole units.
std::string tick_text(double time, double distance);

/// "12.3 ms", "870 ns", "1.02 s": three places, for lengths of time.
std::string duration_text(double ns);

}  // namespace plimsoll::gui
