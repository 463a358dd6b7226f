#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "core/base/quantity.h"
#include "core/model/recipe.h"
#include "executor/cpu/arena.h"
#include "executor/kernels/launch.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll {

/// The CPU's AdamW at work as a plan for a GPU in mixed precision has it, update after update, over more than any cache holds: what
/// contends with DMA for the host's memory. Loops that only move as many bytes move them faster, and are slowed more beside copies.
class AdamLoad {
 public:
  /// Reserves the states, 128 MiB a thread but `most` together, and fills them; nothing runs yet.
  explicit AdamLoad(std::size_t threads, Bytes most = 2 * kGiB);
  ~AdamLoad();
  AdamLoad(const AdamLoad&) = delete;
  AdamLoad& operator=(const AdamLoad&) = delete;

  /// Returns when it is well under way. Must not be called again before stop().
  void start();
  /// Stops after the update that is on its way, and gives the bytes a second that the updates since start() read and wrote.
  double stop();

 private:
  [[nodiscard]] std::vector<OperandView> operands_of(std::int64_t update) const;
  void fill(const std::vector<OperandView>& operands);
  void work();

  WorkerPool pool_;
  Recipe recipe_;
  std::int64_t elements_;  ///< of an update
  std::int64_t updates_;   ///< one after another
  HostArena memory_;       ///< pages as those of a plan's states
  std::vector<std::vector<OperandView>> operands_;  ///< of each update
  std::atomic<bool> running_ = false, under_way_ = false;
  double rate_ = 0;
  std::jthread thread_;  ///< last, as it is waited for first
};

}  // namespace plimsoll
