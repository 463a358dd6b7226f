#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>

namespace plimsoll {

/// Lets instructions of a step start when so many steps before are done, so that events and what they time can be used again.
/// Called from all threads of a run.
class StepGate {
 public:
  /// Steps have `instructions` each; at most `in_flight` are open at once.
  StepGate(std::size_t instructions, std::uint32_t in_flight) : instructions_(instructions), in_flight_(in_flight) {}

  /// Blocks until `step` (counted from the run's first) may start. False: the run failed.
  bool enter(std::uint32_t step) {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [&] { return failed_ || step < done_ + in_flight_; });
    return !failed_;
  }

  /// One of the step's instructions has ended.
  void leave(std::uint32_t step) {
    const std::scoped_lock lock(mutex_);
    const std::size_t place = step - done_;
    if (left_.size() <= place) left_.resize(place + 1, instructions_);
    --left_[place];
    while (!left_.empty() && left_.front() == 0) {
      left_.pop_front();
      ++done_;
    }
    opened_.notify_all();
  }

  /// Nobody waits any more.
  void fail() {
    const std::scoped_lock lock(mutex_);
    failed_ = true;
    opened_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  std::size_t instructions_;
  std::uint32_t in_flight_;
  std::uint32_t done_ = 0;
  std::deque<std::size_t> left_;  ///< by step from `done_` on: instructions that have not ended
  bool failed_ = false;
};

}  // namespace plimsoll
