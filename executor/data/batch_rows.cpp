#include "executor/data/batch_rows.h"

#include "executor/data/record_order.h"

namespace plimsoll {
namespace {

constexpr std::size_t kStepsKnown = 8;

}  // namespace

std::int64_t row_start(const TokenSource& tokens, const BatchRows& batch, std::int64_t step, std::int64_t micro_batch,
                       std::int64_t row) {
  if (tokens.row() == 0) return window_start(batch.seed, step, micro_batch, row, tokens.size(), batch.sequence);
  const std::int64_t rows = tokens.size() / tokens.row();
  const std::int64_t place = (step * batch.micro_batches + micro_batch) * batch.rows + row;
  return record_at(batch.seed, place, rows) * tokens.row();
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
