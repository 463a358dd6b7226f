#pragma once

#include <cstdint>

#include "executor/data/batch_source.h"

namespace plimsoll {

/// Which of `count` records is number `index` of a training: every one once, in an order drawn anew, before any comes again.
std::int64_t record_at(std::uint64_t seed, std::int64_t index, std::int64_t count);

/// The record in row `row` of a batch of `rows`.
inline std::int64_t record_of_row(const BatchPlace& place, std::int64_t rows, std::int64_t row, std::int64_t count) {
  return record_at(place.seed, (place.step * place.micro_batches + place.micro_batch) * rows + row, count);
}

}  // namespace plimsoll
