#pragma once

#include <optional>
#include <string>

#include "formats/runs/answers.h"
#include "sim/planner/search_plan.h"

namespace plimsoll {

/// Micro-batches of half the size and twice their number; nothing where they do not halve evenly.
std::optional<Recipe> halved_batch(Recipe recipe);

/// The options that ask for the recipe's: "--batch 4 --accumulate 2".
std::string batch_options(const Recipe& recipe);

/// The largest micro-batch, of halves of the recipe's, with which the step fits when as many more of them make the same batch;
/// none when there is no such one. Sums then run in another order, so losses differ in their last digits.
Result<std::optional<ChangeAnswer>> smaller_batch(const SearchProblem& problem);

}  // namespace plimsoll
