#include "sim/answers/draw_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace plimsoll {
namespace {

constexpr double kRow = 26;
constexpr double kNames = 230;
constexpr double kBars = 420;
constexpr double kTop = 36;

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&') safe += "&amp;";
    else if (c == '<') safe += "&lt;";
    else if (c == '>') safe += "&gt;";
    else safe += c;
  }
  return safe;
}

std::string opening(double width, double height, const std::string& title) {
  return fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" font-family=\"sans-serif\" "
                     "font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
                     "<text x=\"8\" y=\"20\" font-size=\"14\">{}</text>\n",
                     width, height, escaped(title));
}

/// One axis: where a value of [low, high] lies between two ends, by its logarithm.
struct LogAxis {
  double low = 1;
  double high = 10;
  double begin = 0;
  double end = 1;

  [[nodiscard]] double at(double value) const {
    return begin + (end - begin) * (std::log10(value) - std::log10(low)) / (std::log10(high) - std::log10(low));
  }
};

LogAxis axis_over(double low, double high, double begin, double end) {
  LogAxis axis{std::pow(10, std::floor(std::log10(low))), std::pow(10, std::ceil(std::log10(high))), begin, end};
  if (axis.high <= axis.low) axis.high = 10 * axis.low;
  return axis;
}

std::string power_text(double value) { return fmt::format("{:g}", value); }

std::string grid(const LogAxis& x, const LogAxis& y) {
  std::string svg;
  for (double tick = x.low; tick <= x.high * 1.001; tick *= 10) {
    svg += fmt::format("<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" stroke=\"#dddddd\"/>\n"
                       "<text x=\"{0:.1f}\" y=\"{3:.1f}\" text-anchor=\"middle\">{4}</text>\n",
                       x.at(tick), y.begin, y.end, y.begin + 16, power_text(tick));
  }
  for (double tick = y.low; tick <= y.high * 1.001; tick *= 10) {
    svg += fmt::format("<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{2:.1f}\" y2=\"{1:.1f}\" stroke=\"#dddddd\"/>\n"
                       "<text x=\"{3:.1f}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
                       x.begin, y.at(tick), x.end, x.begin - 6, y.at(tick) + 4, power_text(tick));
  }
  return svg;
}

std::string band(const LogAxis& x, const LogAxis& y, const std::vector<ChartPoint>& points) {
  std::string path;
  for (const ChartPoint& point : points) path += fmt::format("{:.1f},{:.1f} ", x.at(point.x), y.at(point.high));
  for (auto point = points.rbegin(); point != points.rend(); ++point)
    path += fmt::format("{:.1f},{:.1f} ", x.at(point->x), y.at(point->low));
  return fmt::format("<polygon points=\"{}\" fill=\"#8db4e2\" fill-opacity=\"0.4\"/>\n", path);
}

}  // namespace

std::string draw_bars(const std::string& title, const std::vector<ChartBar>& bars) {
  double most = 0;
  for (const ChartBar& bar : bars) most = std::max(most, bar.value);
  std::string svg = opening(kNames + kBars + 160, kTop + kRow * static_cast<double>(bars.size()) + 10, title);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double y = kTop + kRow * static_cast<double>(i);
    const double width = most > 0 ? kBars * bars[i].value / most : 0;
    svg += fmt::format("<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kNames - 8, y + 16,
                       escaped(bars[i].name));
    svg += fmt::format("<rect x=\"{:.0f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.0f}\" fill=\"#4f7fbf\"/>\n",
                       kNames, y + 2, width, kRow - 6);
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", kNames + width + 6, y + 16, escaped(bars[i].label));
  }
  return svg + "</svg>\n";
}

std::string draw_curve(const std::string& title, const std::string& x_title, const std::string& y_title,
                       const std::vector<ChartPoint>& all) {
  std::vector<ChartPoint> points;
  for (const ChartPoint& point : all) {
    if (point.x > 0 && point.y > 0 && point.low > 0 && point.high > 0) points.push_back(point);
  }
  std::string svg = opening(720, 460, title);
  if (points.empty()) return svg + "<text x=\"90\" y=\"220\">nothing fits</text>\n</svg>\n";
  double low_x = points[0].x, high_x = low_x, low_y = points[0].low, high_y = points[0].high;
  for (const ChartPoint& point : points) {
    low_x = std::min(low_x, point.x), high_x = std::max(high_x, point.x);
    low_y = std::min(low_y, point.low), high_y = std::max(high_y, point.high);
  }
  const LogAxis x = axis_over(low_x, high_x, 90, 690), y = axis_over(low_y, high_y, 400, 50);
  svg += grid(x, y) + band(x, y, points);
  std::string path;
  for (const ChartPoint& point : points) path += fmt::format("{:.1f},{:.1f} ", x.at(point.x), y.at(point.y));
  svg += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"#1f4e8c\" stroke-width=\"2\"/>\n", path);
  for (const ChartPoint& point : points) {
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"#1f4e8c\"><title>{}</title></circle>\n",
                       x.at(point.x), y.at(point.y), escaped(point.name));
  }
  svg += fmt::format("<text x=\"390\" y=\"445\" text-anchor=\"middle\">{}</text>\n", escaped(x_title));
  svg += fmt::format("<text x=\"16\" y=\"225\" text-anchor=\"middle\" transform=\"rotate(-90 16 225)\">{}</text>\n",
                     escaped(y_title));
  return svg + "</svg>\n";
}

}  // namespace plimsoll
