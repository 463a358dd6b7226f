#pragma once

#include <optional>
#include <vector>

namespace plimsoll {

/// Least cost · x with row · x <= limit for every row, and x >= 0.
struct LinearProgramme {
  std::vector<double> cost;                ///< one for each variable
  std::vector<std::vector<double>> rows;   ///< one factor for each variable
  std::vector<double> limits;              ///< one for each row

  /// row · x <= limit
  void add(std::vector<double> row, double limit);
};

/// An x of least cost at a corner, by the simplex method on a dense table (two phases, Bland's rule, so that it ends; for some
/// tens of rows whose numbers are about 1). Nothing where no x keeps to the limits, or where the cost has no least.
std::optional<std::vector<double>> solve(const LinearProgramme& programme);

}  // namespace plimsoll
