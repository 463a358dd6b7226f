#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "core/base/quantity.h"
#include "executor/cpu/arena.h"

namespace plimsoll {

/// The CPU's AdamW at work on its own fp32 states, larger than any cache, on some threads: what contends with DMA for the host's
/// memory.
class AdamLoad {
 public:
  /// Reserves the states, 112 MiB a thread but `most` together, and fills them; nothing runs yet.
  explicit AdamLoad(std::size_t threads, Bytes most = 2 * kGiB);
  ~AdamLoad();
  AdamLoad(const AdamLoad&) = delete;
  AdamLoad& operator=(const AdamLoad&) = delete;

  /// Returns when it is well under way.
  void start();
  /// Stops, and gives the bytes a second that it read and wrote since start().
  double stop();

 private:
  /// Of one thread, each of elements_ numbers.
  struct States {
    float *weights, *gradient, *m, *v;
  };
  [[nodiscard]] States states_of(std::size_t thread) const;
  void fill(const States& states, const std::vector<float>& drawn) const;
  void work(const States& states);

  std::size_t count_;      ///< of threads
  std::int64_t elements_;  ///< of each array
  HostArena memory_;       ///< pages as those of a plan's states
  std::atomic<bool> running_ = false;
  std::atomic<std::int64_t> bytes_ = 0;
  std::int64_t started_ns_ = 0;
  std::vector<std::jthread> threads_;  ///< last, as it is waited for first
};

}  // namespace plimsoll
