#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace plimsoll {

/// A constant that was fitted on published rows, fitted again without the rows of one family: what it would be then, and the
/// median error on the family that was left out.
struct FittedConstant {
  std::string constant;  ///< as the file that holds it calls it
  std::string unit;
  double value = 0;      ///< fitted on all rows
  std::string rows;      ///< which rows it is fitted on, in words
  std::string left_out;  ///< a family
  double value_without = 0;
  double error_without = 0;  ///< on the family left out, as a share
};

/// Reads a table of fitted constants; errors name file, line and column. A constant that only one family serves is refused.
Result<std::vector<FittedConstant>> read_fitted_constants(std::string_view csv, std::string where);

/// data/calibration/fitted_constants.csv.
Result<std::vector<FittedConstant>> shipped_fitted_constants();

}  // namespace plimsoll
