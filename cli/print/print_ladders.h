#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sim/validation/judge_ladders.h"

namespace plimsoll {

/// The predicted need of each ladder beside its bracket.
void print_ladders(const LadderReport& report);

/// Every ladder, as CSV.
void print_ladders_csv(const LadderReport& report);

/// The same, for programs.
nlohmann::ordered_json ladders_json(const LadderReport& report);

/// A section of RESULTS.md; empty where there is no ladder.
std::string ladders_markdown(const std::vector<LadderOutcome>& ladders);

}  // namespace plimsoll
