#pragma once

#include <cstdint>
#include <vector>

#include "core/trace/compare_traces.h"

namespace plimsoll::gui {

/// A bar of the split: from one time to another; a part that took less goes down.
struct SplitBar {
  enum class Kind : std::uint8_t { kFirst, kPart, kSecond };

  Kind kind = Kind::kPart;
  TimePart part = TimePart::kIdle;
  std::int64_t from = 0;
  std::int64_t to = 0;

  [[nodiscard]] std::int64_t change() const { return to - from; }
};

/// The first step, every part that differs by what it adds or takes away, and the second step, where the last part's bar
/// ends: the split adds up to the nanosecond.
std::vector<SplitBar> split_bars(const Comparison& comparison);

/// The axis that shows the bars: from a little below the lowest end of a part to a little above the highest, so that
/// parts are seen even where they are small beside the step.
struct SplitAxis {
  double low = 0;
  double high = 1;

  /// Height of a value in `pixels`, 0 at the bottom; below the axis it is 0.
  [[nodiscard]] double height_of(double value, double pixels) const;
};
SplitAxis split_axis(const std::vector<SplitBar>& bars);

}  // namespace plimsoll::gui
