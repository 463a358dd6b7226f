#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sim/validation/row_statistics.h"

namespace plimsoll {

/// One thing that predictions must reach.
struct ValidationTarget {
  std::string name;                  ///< in words
  Measure measure = Measure::kAllocated;
  std::string family;                ///< empty: all
  bool fully = true;                 ///< of fully specified rows only
  std::string statistic;             ///< "median", "p95", "mean", "order", "false_fits", "uncertain", "false_no"
  double bound = 0;                  ///< at most, or for "order" at least
};

/// What is reached of a target; nothing where no row tells.
struct TargetResult {
  ValidationTarget target;
  std::optional<double> reached;
  std::int64_t rows = 0;

  [[nodiscard]] bool is_missed() const;
};

/// Reads targets: name, measure, family, rows (fully or all), statistic, bound. Errors name file, line and column.
Result<std::vector<ValidationTarget>> read_validation_targets(std::string_view csv, std::string where);

/// The targets that the program carries (data/published/targets.csv).
Result<std::vector<ValidationTarget>> shipped_validation_targets();

/// Holds groups against targets, in the order of the targets.
std::vector<TargetResult> judge_targets(const std::vector<ValidationTarget>& targets, const std::vector<RowGroup>& groups);

}  // namespace plimsoll
