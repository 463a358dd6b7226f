#pragma once

#include <cstdint>
#include <vector>

#include "formats/tokenizers/pair_table.h"

namespace plimsoll {

/// Joins neighbours of `symbols` until no pair is in `merges`: always the pair of the smallest rank, the leftmost of
/// several. A linked list under a priority queue: n symbols take O(n log n).
void merge_symbols(const PairTable& merges, std::vector<std::int32_t>& symbols);

}  // namespace plimsoll
