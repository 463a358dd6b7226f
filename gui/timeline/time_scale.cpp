#include "gui/timeline/time_scale.h"

#include <algorithm>

namespace plimsoll::gui {
namespace {

constexpr double kFinest = 0.1;  // ns a pixel

}  // namespace

TimeScale fitted(const TimeBounds& bounds, double left, double width) {
  const double pixels = std::max(width, 1.0);
  const double span = std::max(bounds.end - bounds.begin, 1.0);
  return {.begin = bounds.begin, .ns_per_pixel = span / pixels, .left = left, .width = pixels};
}

TimeScale zoomed(const TimeScale& scale, double factor, double x) {
  TimeScale closer = scale;
  closer.ns_per_pixel = std::max(scale.ns_per_pixel * factor, kFinest);
  closer.begin = scale.time_at(x) - (x - scale.left) * closer.ns_per_pixel;
  return closer;
}

TimeScale panned(const TimeScale& scale, double pixels) {
  TimeScale moved = scale;
  moved.begin += pixels * scale.ns_per_pixel;
  return moved;
}

TimeScale resized(const TimeScale& scale, double left, double width) {
  TimeScale other = scale;
  other.left = left;
  other.width = std::max(width, 1.0);
  other.ns_per_pixel = scale.span() / other.width;
  return other;
}

TimeScale held_within(const TimeScale& scale, const TimeBounds& bounds) {
  TimeScale held = scale;
  const double widest = std::max(bounds.end - bounds.begin, 1.0) / scale.width;
  held.ns_per_pixel = std::clamp(scale.ns_per_pixel, std::min(kFinest, widest), widest);
  const double last = std::max(bounds.end - held.span(), bounds.begin);
  held.begin = std::clamp(scale.begin, bounds.begin, last);
  return held;
}

TimeScale around(const TimeScale& scale, double begin, double end, double share) {
  TimeScale other = scale;
  const double span = std::max(end - begin, 1.0) / share;
  other.ns_per_pixel = std::max(span / scale.width, kFinest);
  other.begin = (begin + end) / 2 - other.span() / 2;
  return other;
}

}  // namespace plimsoll::gui
