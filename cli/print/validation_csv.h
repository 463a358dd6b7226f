#pragma once

#include <vector>

#include "sim/validation/row_outcome.h"

namespace plimsoll {

/// Prints every row with its prediction, or why it has none.
void print_validation_csv(const std::vector<RowOutcome>& outcomes);

}  // namespace plimsoll
