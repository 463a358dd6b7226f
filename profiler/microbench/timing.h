#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "formats/machines/spread.h"

namespace plimsoll {

/// How long to repeat something that is timed.
struct TimingOptions {
  double seconds = 0.3;             ///< repeat for at least so long,
  std::int64_t runs = 5;            ///< and at least so often,
  double most_seconds = 2.0;        ///< but start no further run after so long,
  std::int64_t most_runs = 50'000;  ///< or after so many: the shortest works repeat enough by then
  std::int64_t dropped = 2;         ///< runs before the first that counts
};

/// Durations of single runs of `work`, first runs dropped, in the order in which they were measured. At least one.
std::vector<double> time_runs(const std::function<void()>& work, const TimingOptions& options);

}  // namespace plimsoll
