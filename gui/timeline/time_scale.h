#pragma once

namespace plimsoll::gui {

/// Time to pixels and back. Column x of a row shows [time_at(x), time_at(x + 1)). Times are nanoseconds; doubles hold
/// them exactly for a hundred days.
struct TimeScale {
  double begin = 0;         ///< at the left edge
  double ns_per_pixel = 1;
  double left = 0;          ///< x of the left edge
  double width = 1;         ///< pixels

  [[nodiscard]] double x_of(double time) const { return left + (time - begin) / ns_per_pixel; }
  [[nodiscard]] double time_at(double x) const { return begin + (x - left) * ns_per_pixel; }
  [[nodiscard]] double end() const { return begin + width * ns_per_pixel; }
  [[nodiscard]] double span() const { return width * ns_per_pixel; }

  bool operator==(const TimeScale&) const = default;
};

/// What there is to see: [begin, end).
struct TimeBounds {
  double begin = 0;
  double end = 1;

  bool operator==(const TimeBounds&) const = default;
};

/// Shows exactly `bounds` in `width` pixels from x = `left` on.
TimeScale fitted(const TimeBounds& bounds, double left, double width);

/// Shows `factor` times as much; the time at `x` stays where it is.
TimeScale zoomed(const TimeScale& scale, double factor, double x);

/// Shows what lies `pixels` further right.
TimeScale panned(const TimeScale& scale, double pixels);

/// The same place in another width.
TimeScale resized(const TimeScale& scale, double left, double width);

/// The nearest view that shows no less than a nanosecond a tenth of a pixel, no more than the bounds, and nothing beyond them.
TimeScale held_within(const TimeScale& scale, const TimeBounds& bounds);

/// Centred on [begin, end), which takes `share` of the width.
TimeScale around(const TimeScale& scale, double begin, double end, double share);

}  // namespace plimsoll::gui
