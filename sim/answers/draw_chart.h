#pragma once

#include <string>
#include <vector>

namespace plimsoll {

/// One bar of a chart.
struct ChartBar {
  std::string name;
  double value = 0;
  std::string label;  ///< the value for people
};

/// Horizontal bars from 0 as an SVG; the longest fills the width.
std::string draw_bars(const std::string& title, const std::vector<ChartBar>& bars);

/// A point of a curve; `low` and `high` are its interval.
struct ChartPoint {
  double x = 0;
  double y = 0;
  double low = 0;
  double high = 0;
  std::string name;
};

/// A curve over two logarithmic axes as an SVG, its interval shaded; points that are not above 0 are left out.
std::string draw_curve(const std::string& title, const std::string& x_title, const std::string& y_title,
                       const std::vector<ChartPoint>& points);

}  // namespace plimsoll
