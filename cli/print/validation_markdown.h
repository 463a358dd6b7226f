#pragma once

#include <string>
#include <vector>

#include "formats/published/stored_accuracy.h"
#include "sim/validation/judge_ladders.h"
#include "sim/validation/row_outcome.h"
#include "sim/validation/validation_targets.h"

namespace plimsoll {

/// Our own runs: stored accuracies, and what recorded_runs_markdown told of a GPU's; both may be empty.
struct OwnRuns {
  std::vector<StoredAccuracy> stored;
  std::string recorded;
};

/// RESULTS.md: what was missed first, then what was reached, our own runs, errors by family, the worst rows and the coverage.
std::string validation_markdown(const std::vector<RowOutcome>& outcomes, const std::vector<LadderOutcome>& ladders,
                                const std::vector<TargetResult>& targets, const OwnRuns& runs);

}  // namespace plimsoll
