#pragma once

#include <vector>

namespace plimsoll {

/// The `share` quantile (0 to 1) of unsorted, non-empty `values`, straight between neighbours; 0.5 is the median.
double quantile(std::vector<double> values, double share);

}  // namespace plimsoll
