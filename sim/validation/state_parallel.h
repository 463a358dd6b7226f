#pragma once

#include <string>
#include <vector>

#include "formats/published/published_row.h"
#include "formats/published/reading_rules.h"
#include "sim/parallel/predict_parallel.h"

namespace plimsoll {

/// A row of many devices in the simulator's words.
struct ParallelStatement {
  std::string family;   ///< whose rows are counted together
  std::string machine;  ///< rows of one machine share one scalar
  ParallelQuestion question;
  double seconds = 0;  ///< published, of a step
};

/// The table data/published/parallel_rules.csv.
Result<std::vector<ReadingRule>> shipped_parallel_rules();

/// The row by those rules, or why it cannot be stated. Sizes come from the row's own columns.
Result<ParallelStatement> state_parallel(const PublishedRow& row, const std::vector<ReadingRule>& rules);

}  // namespace plimsoll
