#pragma once

#include <QRectF>

#include <string_view>
#include <vector>

#include "formats/runs/answers.h"

namespace plimsoll::gui {

/// Where the parts of one memory's bar lie. All in the coordinates of the bar that was asked for.
struct LoadLineLayout {
  struct Segment {
    std::string_view category;  ///< as FitAnswer names it, or "slack"
    Bytes bytes;
    QRectF area;
  };
  std::vector<Segment> segments;  ///< from the left, without gaps, as wide as the bytes say
  QRectF unusable;                ///< what context, driver and operating system take, at the right end
  QRectF overflow;                ///< what is needed beyond what is usable; empty when it fits
  double mark = 0;                ///< x of the Plimsoll mark: up to there may be loaded
};

/// The bar's width stands for the capacity, or for what is needed if that is more.
LoadLineLayout lay_out_load_line(const SpaceAnswer& space, const QRectF& bar);

/// The memory that decides: of those that are short the one that is short of most, else the fullest by its share, the device's
/// before an equal one. Nothing where there is none.
const SpaceAnswer* deciding_space(const std::vector<SpaceAnswer>& memory);

}  // namespace plimsoll::gui
