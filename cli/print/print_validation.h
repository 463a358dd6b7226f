#pragma once

#include <vector>

#include "cli/commands/validate_rows.h"
#include "sim/validation/judge_ladders.h"
#include "sim/validation/validation_targets.h"

namespace plimsoll {

/// Prints outcomes as the flags ask: tables for people, JSON or CSV.
void print_validation(const std::vector<RowOutcome>& outcomes, const LadderReport& ladders,
                      const std::vector<TargetResult>& targets, const RowFlags& flags);

/// Outcomes that are compared, the largest errors and the wrong verdicts first.
std::vector<const RowOutcome*> worst_rows(const std::vector<RowOutcome>& outcomes, std::size_t count);

/// "12.3 GiB", "1.27 s", "fits".
std::string value_text(Measure measure, double value);

}  // namespace plimsoll
