#pragma once

#include <QImage>

#include <vector>

#include "gui/timeline/emphasis.h"
#include "gui/timeline/paint_lane.h"
#include "gui/timeline/work_colours.h"

namespace plimsoll::gui {

/// The lanes and curves of a scene as pixels, and what there is to write on them. Columns are device pixels from the
/// left edge of the rows.
struct RowsImage {
  QImage image;
  std::vector<PaintedLane> rows;  ///< one a scene row; empty where it is out of sight
  double ratio = 1;               ///< device pixels a logical one
};

/// What an image of rows is painted from.
struct RowsRequest {
  const TimelineScene& scene;
  const Emphasis& emphasis;
  const Theme& theme;
  TimeScale scale;  ///< in logical pixels
  int scroll = 0;
  QSize size;       ///< logical, of the rows' area
  double ratio = 1;
};

RowsImage paint_rows(const RowsRequest& request);

/// Largest value of a curve's axis: what is shown of a space, with its usable mark where that is near.
double curve_top(const MemoryCurve& curve);

}  // namespace plimsoll::gui
