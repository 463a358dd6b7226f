#pragma once

#include <vector>

#include "core/base/result.h"
#include "sim/validation/row_outcome.h"

namespace plimsoll {

/// Prints each fitted constant with what it would be without the rows of one family, and the error on that family then.
Result<void> print_cross(const std::vector<RowOutcome>& outcomes, bool json);

}  // namespace plimsoll
