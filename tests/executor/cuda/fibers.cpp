#include "tests/executor/cuda/fibers.h"

namespace plimsoll::test {
namespace {

constexpr std::size_t kStack = std::size_t{64} << 10;
Fibers* starting = nullptr;  // read once by a fiber that starts, on the thread that starts it

}  // namespace

void Fibers::live() {
  Fibers& all = *starting;
  const int own = all.current_;
  Fiber& fiber = *all.fibers_[static_cast<std::size_t>(own)];
  while (true) {
    (*all.body_)(own);
    fiber.ended = true;
    all.leave(fiber);
  }
}

/// Jumps save no signal mask, so they cost no call of the system.
void Fibers::leave(Fiber& fiber) {
  if (::_setjmp(fiber.place) == 0) ::_longjmp(scheduler_, 1);
}

void Fibers::resume(Fiber& fiber) {
  if (::_setjmp(scheduler_) != 0) return;
  if (fiber.started) ::_longjmp(fiber.place, 1);
  fiber.started = true;
  fiber.stack = std::make_unique<char[]>(kStack);
  ::getcontext(&fiber.start);
  fiber.start.uc_stack.ss_sp = fiber.stack.get();
  fiber.start.uc_stack.ss_size = kStack;
  fiber.start.uc_link = nullptr;
  ::makecontext(&fiber.start, &Fibers::live, 0);
  starting = this;
  ::setcontext(&fiber.start);
}

void Fibers::run(int threads, const std::function<void(int)>& body) {
  while (fibers_.size() < static_cast<std::size_t>(threads)) fibers_.push_back(std::make_unique<Fiber>());
  body_ = &body;
  for (int i = 0; i < threads; ++i) fibers_[static_cast<std::size_t>(i)]->ended = false;
  for (bool left = true; left;) {
    left = false;
    for (int i = 0; i < threads; ++i) {
      current_ = order_ == Order::kForward ? i : threads - 1 - i;
      Fiber& fiber = *fibers_[static_cast<std::size_t>(current_)];
      if (fiber.ended) continue;
      resume(fiber);
      left = left || !fiber.ended;
    }
  }
}

void Fibers::sync() { leave(*fibers_[static_cast<std::size_t>(current_)]); }

}  // namespace plimsoll::test
