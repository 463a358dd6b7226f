#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <functional>
#include <memory>
#include <vector>

namespace plimsoll::test {

/// The threads of a block, one after another on the calling thread: each runs until it comes to the barrier or ends; when all
/// have, the next round begins.
class Fibers {
 public:
  /// In which order a round takes the threads: a program that gives other bits backward lacks a barrier.
  enum class Order { kForward, kBackward };

  explicit Fibers(Order order = Order::kForward) : order_(order) {}
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  /// Calls `body(thread)` for every thread in [0, threads).
  void run(int threads, const std::function<void(int)>& body);
  /// The barrier: called from a body.
  void sync();

 private:
  /// Lives on from one run to the next: starting one costs more than all else.
  struct Fiber {
    ucontext_t start{};
    jmp_buf place{};
    std::unique_ptr<char[]> stack;
    bool started = false;
    bool ended = true;
  };
  static void live();
  void resume(Fiber& fiber);
  void leave(Fiber& fiber);

  Order order_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  jmp_buf scheduler_{};
  const std::function<void(int)>* body_ = nullptr;
  int current_ = 0;
};

}  // namespace plimsoll::test
