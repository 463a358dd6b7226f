#include "gui/compare/split_layout.h"

#include <algorithm>

namespace plimsoll::gui {

std::vector<SplitBar> split_bars(const Comparison& comparison) {
  std::vector<SplitBar> bars;
  std::int64_t reached = comparison.predicted_step.count;
  bars.push_back({SplitBar::Kind::kFirst, TimePart::kIdle, 0, reached});
  for (const ComparedPart& part : comparison.parts) {
    const std::int64_t change = (part.measured - part.predicted).count;
    if (part.predicted.count == 0 && part.measured.count == 0) continue;
    bars.push_back({SplitBar::Kind::kPart, part.part, reached, reached + change});
    reached += change;
  }
  bars.push_back({SplitBar::Kind::kSecond, TimePart::kIdle, 0, comparison.measured_step.count});
  return bars;
}

double SplitAxis::height_of(double value, double pixels) const {
  return std::clamp((value - low) / std::max(high - low, 1.0), 0.0, 1.0) * pixels;
}

SplitAxis split_axis(const std::vector<SplitBar>& bars) {
  std::int64_t lowest = INT64_MAX;
  std::int64_t highest = 1;
  for (const SplitBar& bar : bars) {
    lowest = std::min({lowest, bar.to, bar.kind == SplitBar::Kind::kPart ? bar.from : bar.to});
    highest = std::max({highest, bar.from, bar.to});
  }
  if (bars.empty()) return {};
  const auto room = static_cast<double>(highest - lowest);
  const double low = static_cast<double>(lowest) - std::max(room * 0.6, static_cast<double>(highest) * 0.02);
  return {std::max(low, 0.0), static_cast<double>(highest) + room * 0.05};
}

}  // namespace plimsoll::gui
