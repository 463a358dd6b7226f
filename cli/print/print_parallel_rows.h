#pragma once

#include <vector>

#include "sim/validation/judge_parallel.h"

namespace plimsoll {

/// Published steps of many devices beside predictions: families, machines' scalars, the `worst` rows. As CSV every row.
void print_parallel_rows(const std::vector<ParallelOutcome>& outcomes, std::size_t worst, bool json, bool csv);

}  // namespace plimsoll
