#include "formats/machines/spread.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {
namespace {

/// The nearest of sorted values at a share of the way from the first to the last.
double at_share(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<std::size_t>(std::lround(share * static_cast<double>(sorted.size() - 1)))];
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {.median = at_share(values, 0.5),
          .low = at_share(values, 0.05),
          .high = at_share(values, 0.95),
          .samples = static_cast<std::int64_t>(values.size())};
}

Spread rate_of(const Spread& seconds, double amount) {
  return {.median = amount / seconds.median,
          .low = amount / seconds.high,
          .high = amount / seconds.low,
          .samples = seconds.samples};
}

}  // namespace plimsoll
