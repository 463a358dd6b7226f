#pragma once

#include <string>
#include <vector>

#include "gui/timeline/timeline.h"

namespace plimsoll::gui {

/// What one name adds up to in a range.
struct NameStatistics {
  std::uint32_t name = 0;   ///< index into Timeline::names
  std::uint8_t paint = 0;
  std::uint64_t count = 0;
  std::int64_t total = 0;    ///< ns of it inside the range
  std::int64_t longest = 0;  ///< ns of the longest, inside the range
};

/// How busy a track is in a range.
struct TrackStatistics {
  std::uint32_t track = 0;
  std::int64_t busy = 0;  ///< ns in which at least one lane works
  double share = 0;       ///< of the range
};

/// What a range of time holds.
struct SelectionStatistics {
  double begin = 0;
  double end = 0;
  std::vector<NameStatistics> names;    ///< most time first
  std::vector<TrackStatistics> tracks;  ///< those that work, in the timeline's order
};

/// Adds up [begin, end); events are clipped to it.
SelectionStatistics select_range(const Timeline& timeline, double begin, double end);

}  // namespace plimsoll::gui
