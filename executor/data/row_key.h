#pragma once

#include "executor/data/batch_source.h"
#include "executor/data/counter_random.h"

namespace plimsoll {

/// The key of all that is random about one row of a batch.
inline std::uint64_t row_key(const BatchPlace& place, std::int64_t row) {
  std::uint64_t key = mix64(place.seed);
  for (const std::int64_t part : {place.step, place.micro_batch, row}) key = random_at(key, static_cast<std::uint64_t>(part));
  return key;
}

}  // namespace plimsoll
