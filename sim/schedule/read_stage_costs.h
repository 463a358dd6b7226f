#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/schedule/stage_costs.h"

namespace plimsoll {

/// Reads "F,I,W,C": the times of one rank and of a hop.
Result<RankCosts> parse_rank_costs(std::string_view text);

/// Reads the times of every stage from a CSV file with the columns stage, forward, input_gradient, weight_gradient and,
/// if there are any, hop (to the next stage); a row for each stage, in any order.
Result<std::vector<RankCosts>> read_stage_costs(const std::string& path);

}  // namespace plimsoll
