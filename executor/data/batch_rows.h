#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "executor/data/token_source.h"

namespace plimsoll {

/// What decides which rows of a corpus the batches of a step hold.
struct BatchRows {
  std::uint64_t seed = 0;
  std::int64_t micro_batches = 1;  ///< of a step
  std::int64_t rows = 1;           ///< of a micro-batch
  std::int64_t sequence = 0;
};

/// Start of a row of a batch. In a stream it is any window (window_start); packed rows come each once, in an order drawn
/// anew for every time through, before any comes again.
std::int64_t row_start(const TokenSource& tokens, const BatchRows& batch, std::int64_t step, std::int64_t micro_batch,
                       std::int64_t row);

/// How many targets of a step count, over all its micro-batches: what the loss is divided by. Remembers the last steps,
/// because the micro-batches of a step ask one after another. Any thread may ask.
class CountedTargets {
 public:
  CountedTargets(const TokenSource& tokens, const BatchRows& batch) : tokens_(tokens), batch_(batch) {}

  std::int64_t of_step(std::int64_t step);

 private:
  const TokenSource& tokens_;
  BatchRows batch_;
  std::mutex mutex_;
  std::map<std::int64_t, std::int64_t> known_;  ///< by step
};

}  // namespace plimsoll
