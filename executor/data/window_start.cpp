#include "executor/data/counter_random.h"
#include "executor/data/token_source.h"

namespace plimsoll {

std::int64_t window_start(std::uint64_t seed, std::int64_t step, std::int64_t micro_batch, std::int64_t row,
                          std::int64_t corpus_tokens, std::int64_t sequence) {
  std::uint64_t key = mix64(seed);
  for (const std::int64_t part : {step, micro_batch, row}) key = random_at(key, static_cast<std::uint64_t>(part));
  return to_range(key, corpus_tokens - sequence);
}

}  // namespace plimsoll
