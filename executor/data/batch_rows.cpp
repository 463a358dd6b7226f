#include "executor/data/batch_rows.h"

#include <bit>

#include "executor/data/counter_random.h"

namespace plimsoll {
namespace {

constexpr std::size_t kStepsKnown = 8;

/// Four rounds of a Feistel network over words of 2 × `half` bits (Luby, Rackoff 1988).
std::uint64_t shuffled(std::uint64_t key, int half, std::uint64_t word) {
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  std::uint64_t left = word >> half;
  std::uint64_t right = word & mask;
  for (std::uint64_t round = 0; round < 4; ++round) {
    const std::uint64_t next = left ^ (random_at(random_at(key, round), right) & mask);
    left = right;
    right = next;
  }
  return left << half | right;
}

}  // namespace

std::int64_t drawn_order(std::uint64_t key, std::int64_t count, std::int64_t index) {
  const int half = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(count - 1)) + 1) / 2;
  if (half == 0) return 0;
  // Words beyond the count are shuffled on until one lies within: a bijection still, in four rounds at most on average.
  auto word = static_cast<std::uint64_t>(index);
  do {
    word = shuffled(key, half, word);
  } while (word >= static_cast<std::uint64_t>(count));
  return static_cast<std::int64_t>(word);
}

std::int64_t row_start(const TokenSource& tokens, const BatchRows& batch, std::int64_t step, std::int64_t micro_batch,
                       std::int64_t row) {
  if (tokens.row() == 0) return window_start(batch.seed, step, micro_batch, row, tokens.size(), batch.sequence);
  const std::int64_t rows = tokens.size() / tokens.row();
  const std::int64_t place = (step * batch.micro_batches + micro_batch) * batch.rows + row;
  const std::uint64_t key = random_at(mix64(batch.seed), static_cast<std::uint64_t>(place / rows));
  return drawn_order(key, rows, place % rows) * tokens.row();
}

std::int64_t CountedTargets::of_step(std::int64_t step) {
  const std::lock_guard lock(mutex_);
  if (const auto found = known_.find(step); found != known_.end()) return found->second;
  std::int64_t sum = 0;
  for (std::int64_t micro_batch = 0; micro_batch < batch_.micro_batches; ++micro_batch) {
    for (std::int64_t row = 0; row < batch_.rows; ++row) {
      sum += tokens_.counted(row_start(tokens_, batch_, step, micro_batch, row) + 1, batch_.sequence);
    }
  }
  if (known_.size() >= kStepsKnown) known_.erase(known_.begin());
  known_[step] = sum;
  return sum;
}

}  // namespace plimsoll
