#pragma once

#include <cstdint>
#include <vector>

namespace plimsoll {

/// Median and 5–95 % spread of something that was measured several times; the unit stands where it is used.
struct Spread {
  double median = 0;
  double low = 0;
  double high = 0;
  std::int64_t samples = 0;
};

/// Of unsorted values; at least one.
Spread spread_of(std::vector<double> values);

/// Amounts per second of something that takes so many seconds for `amount`: low and high change places.
Spread rate_of(const Spread& seconds, double amount);

}  // namespace plimsoll
