#pragma once

#include <string>
#include <vector>

#include "formats/runs/answers.h"
#include "sim/planner/search_plan.h"

namespace plimsoll {

/// The verdict, the plan in words, time, memory and what limits it, as lines for a person.
std::string fit_text(const FitAnswer& answer, const Recipe& recipe, const std::string& machine);

/// For every family of strategies of which nothing fits: which memory is short, by how much, and why.
std::string shortfall_text(const SearchResult& search, const Platform& platform, std::int64_t parameters);

/// "Assumed:" and one line for each default that was taken.
std::string notes_text(const std::vector<std::string>& notes);

}  // namespace plimsoll
