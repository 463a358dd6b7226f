#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/validation/row_outcome.h"

namespace plimsoll {

/// Relative errors of predicted numbers; all shares, not percent.
struct ErrorStatistics {
  std::int64_t count = 0;
  double median = 0;  ///< of absolute errors, as are mean, p95 and worst
  double mean = 0;
  double p95 = 0;
  double worst = 0;
  double bias = 0;    ///< mean of signed errors; above 0: predicted too much
};

/// Verdicts against what happened.
struct VerdictStatistics {
  std::int64_t count = 0;
  std::int64_t uncertain = 0;
  std::int64_t false_fits = 0;  ///< "fits", certain, and it did not
  std::int64_t false_no = 0;    ///< "does not fit", certain, and it did
};

/// Rows of one measure, and of one family or of all.
struct RowGroup {
  Measure measure = Measure::kAllocated;
  std::string family;       ///< empty: all
  std::int64_t stated = 0;
  std::int64_t specified = 0;
  ErrorStatistics all;
  ErrorStatistics fully;    ///< of fully specified rows
  VerdictStatistics verdicts;
  VerdictStatistics fully_verdicts;
  std::int64_t sweeps = 0;          ///< system, model and GPU with at least four different published values
  std::optional<double> order;      ///< median of the rank correlations within sweeps
  std::optional<double> worst_order;
};

/// Statistics by measure, all families first, then each family by name. Groups without rows are left out.
std::vector<RowGroup> summarize_rows(const std::vector<RowOutcome>& outcomes);

/// How often each kind of reason (the text before ':') keeps a row from being compared, most frequent first.
std::vector<std::pair<std::string, std::int64_t>> count_reasons(const std::vector<RowOutcome>& outcomes);

ErrorStatistics summarize_errors(std::vector<double> signed_errors);

}  // namespace plimsoll
