#pragma once

#include <optional>

#include "sim/validation/row_outcome.h"

namespace plimsoll {

/// What a source found by trying, and tells the best of. Nothing was tried with more than this many sequences at once.
inline constexpr std::int64_t kLargestTriedBatch = 64;
/// No published depth search went deeper.
inline constexpr std::int64_t kDeepestTried = 2048;

/// Of micro-batches of 64, 32 … 1 sequences (dividing a step's, where the row tells a step), the one that trains fastest among
/// those that fit: seconds of the step, or of a step of one sequence a rank where the row tells none. The recipe counts micro-batches of one.
Result<std::optional<double>> best_over_batches(const RowStatement& statement, const StackPredictor& predict);

/// Parameters of the deepest model of the stated width that fits; nothing where one block does not.
Result<std::optional<double>> largest_by_depth(const RowStatement& statement, const StackPredictor& predict);

}  // namespace plimsoll
