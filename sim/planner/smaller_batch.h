#pragma once

#include <optional>

#include "formats/runs/answers.h"
#include "sim/planner/search_plan.h"

namespace plimsoll {

/// The largest micro-batch, of halves of the recipe's, with which the step fits when as many more of them make the same batch;
/// none when there is no such one. Sums then run in another order, so losses differ in their last digits.
Result<std::optional<ChangeAnswer>> smaller_batch(const SearchProblem& problem);

}  // namespace plimsoll
