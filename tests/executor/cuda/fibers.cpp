#include "tests/executor/cuda/fibers.h"

namespace plimsoll::test {
namespace {

constexpr std::size_t kStack = std::size_t{64} << 10;
thread_local Fibers* running = nullptr;

}  // namespace

void Fibers::enter() {
  Fibers& all = *running;
  const int own = all.current_;
  (*all.body_)(own);
  all.fibers_[static_cast<std::size_t>(own)].ended = true;
  ::swapcontext(&all.fibers_[static_cast<std::size_t>(own)].context, &all.scheduler_);
}

void Fibers::start(int thread) {
  Fiber& fiber = fibers_[static_cast<std::size_t>(thread)];
  if (!fiber.stack) fiber.stack = std::make_unique<char[]>(kStack);
  fiber.ended = false;
  ::getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.get();
  fiber.context.uc_stack.ss_size = kStack;
  fiber.context.uc_link = nullptr;
  ::makecontext(&fiber.context, &Fibers::enter, 0);
}

void Fibers::run(int threads, const std::function<void(int)>& body) {
  if (fibers_.size() < static_cast<std::size_t>(threads)) fibers_.resize(static_cast<std::size_t>(threads));
  body_ = &body;
  running = this;
  for (int i = 0; i < threads; ++i) start(i);
  for (bool left = true; left;) {
    left = false;
    for (int i = 0; i < threads; ++i) {
      current_ = order_ == Order::kForward ? i : threads - 1 - i;
      Fiber& fiber = fibers_[static_cast<std::size_t>(current_)];
      if (fiber.ended) continue;
      ::swapcontext(&scheduler_, &fiber.context);
      left = left || !fiber.ended;
    }
  }
}

void Fibers::sync() { ::swapcontext(&fibers_[static_cast<std::size_t>(current_)].context, &scheduler_); }

}  // namespace plimsoll::test
