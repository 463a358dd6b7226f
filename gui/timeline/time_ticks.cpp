#include "gui/timeline/time_ticks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/quantity.h"

namespace plimsoll::gui {
namespace {

struct Unit {
  double ns;
  const char* name;
};

Unit unit_of(double distance) {
  if (distance >= 1e9) return {1e9, "s"};
  if (distance >= 1e6) return {1e6, "ms"};
  if (distance >= 1e3) return {1e3, "µs"};
  return {1, "ns"};
}

/// "1,234,567".
std::string grouped(std::int64_t value) {
  std::string digits = std::to_string(std::abs(value));
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  return value < 0 ? fmt::format("-{}", digits) : digits;
}

}  // namespace

double tick_distance(const TimeScale& scale, double least_pixels) {
  const double least = std::max(scale.ns_per_pixel * least_pixels, 1.0);
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (step * power >= least * (1 - 1e-9)) return step * power;
  }
  return 10 * power;
}

std::vector<double> tick_times(const TimeScale& scale, double distance) {
  std::vector<double> times;
  const double first = std::ceil(scale.begin / distance);
  for (double n = first; n * distance <= scale.end(); ++n) times.push_back(n * distance);
  return times;
}

std::string tick_text(double time, double distance) {
  const Unit unit = unit_of(distance);
  return fmt::format("{} {}", grouped(std::llround(time / unit.ns)), unit.name);
}

std::string duration_text(double ns) {
  const Nanoseconds whole(std::llround(std::abs(ns)));
  std::string text = to_text(whole);
  if (text.ends_with(" us")) text = fmt::format("{}µs", std::string_view(text).substr(0, text.size() - 2));
  return ns < 0 ? fmt::format("−{}", text) : text;
}

}  // namespace plimsoll::gui
