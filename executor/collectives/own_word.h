#pragma once

#include <atomic>
#include <cstdint>

#include "executor/collectives/rank_watch.h"

namespace plimsoll {

/// What this rank says of itself, put together by any of its threads.
class OwnWord {
 public:
  /// An instruction of that step begins.
  void begins(std::int64_t step) {
    instructions_.fetch_add(1, std::memory_order_relaxed);
    std::int64_t newest = step_.load(std::memory_order_relaxed);
    while (step > newest && !step_.compare_exchange_weak(newest, step)) continue;
  }
  void pauses(bool between_stretches) { pauses_ = between_stretches; }
  /// −1: for none.
  void waits_for(std::int64_t rank) { waiting_for_ = rank; }
  void leaves() { left_ = true; }

  [[nodiscard]] bool has_left() const { return left_; }
  [[nodiscard]] RankWord now() const { return {step_, instructions_, waiting_for_, left_ ? 1 : 0, pauses_ ? 1 : 0}; }

 private:
  std::atomic<std::int64_t> step_{-1}, instructions_{0}, waiting_for_{-1};
  std::atomic<bool> left_{false}, pauses_{false};
};

}  // namespace plimsoll
