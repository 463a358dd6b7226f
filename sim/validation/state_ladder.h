#pragma once

#include <string>
#include <vector>

#include "formats/published/published_row.h"
#include "formats/published/reading_rules.h"
#include "sim/memory/waiting_experts.h"

namespace plimsoll {

/// One run under a cap on host RAM: a rung of the ladder of runs that differ in the cap alone.
struct LadderRung {
  std::string family;
  std::string ladder;  ///< system, model and rows: what the rungs of one ladder share
  WaitingExperts waiting;
  Bytes program;  ///< of the process beside what is locked
  Bytes cap;
  bool ran = false;
};

/// The table data/published/ladder_rules.csv.
Result<std::vector<ReadingRule>> shipped_ladder_rules();

/// Whether a rule reads the row as a rung.
bool is_rung(const PublishedRow& row, const std::vector<ReadingRule>& rules);

/// The row by those rules; an error names the row and what it or the rules do not say.
Result<LadderRung> state_rung(const PublishedRow& row, const std::vector<ReadingRule>& rules);

}  // namespace plimsoll
