#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gui/timeline/event_lane.h"
#include "gui/timeline/time_scale.h"
#include "gui/timeline/timeline.h"
#include "gui/timeline/work_class.h"

namespace plimsoll::gui {

/// 0xffrrggbb, as QRgb.
using Pixel = std::uint32_t;

/// `share` of `top` over `bottom`, 0 to 1.
Pixel mix(Pixel bottom, Pixel top, double share);

/// The colours of a row.
struct LanePaint {
  std::span<const TimelineLabel> labels;
  std::span<const Pixel> colours;  ///< by TimelineLabel::paint
  Pixel ground = 0xffffffffu;
};

/// A stretch of columns [left, right) that is all one event's.
struct LaneBox {
  std::uint32_t event = 0;
  int left = 0;
  int right = 0;
};

/// A stretch of columns without any event.
struct LaneGap {
  std::uint32_t next = 0;  ///< the event behind it
  int left = 0;
  int right = 0;
};

/// What a painted row shows, for labels and bubbles.
struct PaintedLane {
  std::vector<LaneBox> boxes;  ///< of at least kLabelledPixels
  std::vector<LaneGap> gaps;   ///< of at least kGapPixels between the lane's first and last event
};
inline constexpr int kLabelledPixels = 18;
inline constexpr int kGapPixels = 3;

/// Paints one row. A column that one event covers has its colour; a column over several has that of the longest one,
/// the paler the less of its time is busy. Costs O(columns · log events).
PaintedLane paint_lane(const EventLane& lane, const LanePaint& paint, const TimeScale& scale, std::span<Pixel> row);

}  // namespace plimsoll::gui
