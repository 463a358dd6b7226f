#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

#include "sim/validation/judge_operators.h"

namespace plimsoll {

/// Benchmarks of operators beside their predictions: shares that are met, by operator, and the worst rows.
void print_operators(const std::vector<OperatorOutcome>& outcomes, std::size_t worst);

/// A section of RESULTS.md: operators with most misses first.
void print_operators_markdown(const std::vector<OperatorOutcome>& outcomes);

/// Every benchmark's row with its prediction, as CSV.
void print_operators_csv(const std::vector<OperatorOutcome>& outcomes);

/// The same as print_operators, for programs.
nlohmann::ordered_json operators_json(const std::vector<OperatorOutcome>& outcomes, std::size_t worst);

}  // namespace plimsoll
