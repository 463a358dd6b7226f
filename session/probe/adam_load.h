#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace plimsoll {

/// The CPU's AdamW at work on its own fp32 states, larger than any cache, on some threads: what contends with DMA for the host's
/// memory.
class AdamLoad {
 public:
  /// Reserves the states, 112 MiB a thread, and fills them; nothing runs yet.
  explicit AdamLoad(std::size_t threads);
  ~AdamLoad();
  AdamLoad(const AdamLoad&) = delete;
  AdamLoad& operator=(const AdamLoad&) = delete;

  void start();
  /// Stops, and gives the bytes a second that it read and wrote since start().
  double stop();

 private:
  struct States {
    std::vector<float> weights, gradient, m, v;
  };
  void work(States& states);

  std::vector<States> states_;
  std::vector<std::thread> threads_;
  std::atomic<bool> running_ = false;
  std::atomic<std::int64_t> bytes_ = 0;
  std::int64_t started_ns_ = 0;
};

}  // namespace plimsoll
