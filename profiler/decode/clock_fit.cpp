#include "profiler/decode/clock_fit.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace plimsoll {
namespace {

constexpr double kLeastSpanNs = 1e8;
constexpr double kMostDrift = 1e-3;

/// Sums about the first pair, so that nanoseconds since 1970 do not lose their last digits.
double slope(std::span<const ClockPair> pairs) {
  double mean_x = 0, mean_y = 0;
  for (const ClockPair& pair : pairs) {
    mean_x += static_cast<double>(pair.from - pairs.front().from) / static_cast<double>(pairs.size());
    mean_y += static_cast<double>(pair.to - pairs.front().to) / static_cast<double>(pairs.size());
  }
  double xx = 0, xy = 0;
  for (const ClockPair& pair : pairs) {
    const double x = static_cast<double>(pair.from - pairs.front().from) - mean_x;
    xx += x * x;
    xy += x * (static_cast<double>(pair.to - pairs.front().to) - mean_y);
  }
  return xx > 0 ? xy / xx : 1.0;
}

bool far_enough(std::span<const ClockPair> pairs) {
  const auto [first, last] =
      std::minmax_element(pairs.begin(), pairs.end(), [](const ClockPair& a, const ClockPair& b) { return a.from < b.from; });
  return static_cast<double>(last->from - first->from) >= kLeastSpanNs;
}

}  // namespace

std::int64_t ClockFit::operator()(std::int64_t from) const {
  if (pairs == 0) return from;
  const std::int64_t passed = from - anchor_from;
  // The whole passed time exactly, and the drift, which is small, in floating point.
  return anchor_to + passed + static_cast<std::int64_t>(std::llround(static_cast<double>(passed) * (rate - 1.0)));
}

ClockFit fit_clock(std::span<const ClockPair> pairs) {
  if (pairs.empty()) return {};
  ClockFit fit{
      .anchor_from = pairs.front().from, .anchor_to = pairs.front().to, .rate = 1.0, .residual_ns = 0, .pairs = pairs.size()};
  if (pairs.size() >= 2 && far_enough(pairs)) {
    const double rate = slope(pairs);
    if (std::fabs(rate - 1.0) <= kMostDrift) fit.rate = rate;
  }
  std::vector<std::int64_t> off;
  for (const ClockPair& pair : pairs) off.push_back(pair.to - fit(pair.from));
  const auto middle = off.begin() + static_cast<std::ptrdiff_t>(off.size() / 2);
  std::nth_element(off.begin(), middle, off.end());
  fit.anchor_to += *middle;
  for (const ClockPair& pair : pairs)
    fit.residual_ns = std::max(fit.residual_ns, std::fabs(static_cast<double>(pair.to - fit(pair.from))));
  return fit;
}

}  // namespace plimsoll
