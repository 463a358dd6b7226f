#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace plimsoll::test {

/// The threads of a block, one after another on the calling thread: each runs until it comes to a barrier or ends. A
/// warp's threads go on when all of them are at its barrier, and only when a whole warp waits for the block does the
/// next one run.
class Fibers {
 public:
  static constexpr int kWarp = 32;

  /// In which order warps, and threads in a warp, are taken: a program that gives other bits backward lacks a barrier.
  enum class Order { kForward, kBackward };

  explicit Fibers(Order order = Order::kForward) : order_(order) {}
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  /// Calls `body(thread)` for every thread in [0, threads). Throws std::logic_error where threads of a warp wait for
  /// others that have gone elsewhere.
  void run(int threads, const std::function<void(int)>& body);
  /// The barriers of the block and of the thread's warp: called from a body.
  void sync();
  void sync_warp();

 private:
  enum class State : std::uint8_t { kReady, kAtWarp, kAtBlock, kEnded };
  /// Lives on from one run to the next: starting one costs more than all else.
  struct Fiber {
    ucontext_t start{};
    jmp_buf place{};
    std::unique_ptr<char[]> stack;
    bool started = false;
    State state = State::kEnded;
  };
  static void live();
  void resume(Fiber& fiber);
  void wait(State where);
  void leave(Fiber& fiber);
  void run_warp(int begin, int end);
  [[nodiscard]] bool wakes_warp(int begin, int end);

  Order order_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  jmp_buf scheduler_{};
  const std::function<void(int)>* body_ = nullptr;
  int current_ = 0;
};

}  // namespace plimsoll::test
