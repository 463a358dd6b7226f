#pragma once

#include <cstdint>
#include <span>

namespace plimsoll {

/// One moment on two clocks, in nanoseconds.
struct ClockPair {
  std::int64_t from = 0;
  std::int64_t to = 0;
};

/// Turns one clock's times into another's: to = anchor_to + (from − anchor_from) · rate.
struct ClockFit {
  std::int64_t anchor_from = 0;
  std::int64_t anchor_to = 0;
  double rate = 1.0;
  double residual_ns = 0;  ///< largest distance of a pair from the line; how far the two clocks disagree
  std::size_t pairs = 0;   ///< 0: nothing is known, and times are kept

  [[nodiscard]] std::int64_t operator()(std::int64_t from) const;
};

/// The line of least squares through the pairs. Clocks of one computer run alike but for parts in a thousand: where pairs lie so
/// close that the slope would be noise (under a tenth of a second apart, or a slope off by more than that), the rate stays 1 and
/// the median distance is taken.
ClockFit fit_clock(std::span<const ClockPair> pairs);

}  // namespace plimsoll
