#include "tests/executor/cuda/fibers.h"

#include <algorithm>
#include <stdexcept>

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
    fiber.state = State::kEnded;
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

/// When nobody of a warp can go on, those at its barrier may if they are the whole warp.
bool Fibers::wakes_warp(int begin, int end) {
  const auto first = fibers_.begin() + begin, last = fibers_.begin() + end;
  const auto waits = std::count_if(first, last, [](const auto& fiber) { return fiber->state == State::kAtWarp; });
  if (waits == 0) return false;
  if (waits < end - begin) {
    fibers_.clear();  // none of them can be brought to its end
    throw std::logic_error("a warp's threads wait for others that do something else");
  }
  for (auto fiber = first; fiber != last; ++fiber) (*fiber)->state = State::kReady;
  return true;
}

void Fibers::run_warp(int begin, int end) {
  do {
    for (int i = begin; i < end; ++i) {
      current_ = order_ == Order::kForward ? i : begin + end - 1 - i;
      Fiber& fiber = *fibers_[static_cast<std::size_t>(current_)];
      if (fiber.state == State::kReady) resume(fiber);
    }
  } while (wakes_warp(begin, end));
}

void Fibers::run(int threads, const std::function<void(int)>& body) {
  while (fibers_.size() < static_cast<std::size_t>(threads)) fibers_.push_back(std::make_unique<Fiber>());
  body_ = &body;
  for (int i = 0; i < threads; ++i) fibers_[static_cast<std::size_t>(i)]->state = State::kReady;
  const int warps = (threads + kWarp - 1) / kWarp;
  for (bool left = true; left;) {
    for (int i = 0; i < warps; ++i) {
      const int warp = order_ == Order::kForward ? i : warps - 1 - i;
      run_warp(warp * kWarp, std::min(threads, (warp + 1) * kWarp));
    }
    left = false;  // whoever has not ended is at the block's barrier, and so is everybody else
    for (int i = 0; i < threads; ++i) {
      Fiber& fiber = *fibers_[static_cast<std::size_t>(i)];
      if (fiber.state != State::kAtBlock) continue;
      fiber.state = State::kReady;
      left = true;
    }
  }
}

void Fibers::wait(State where) {
  Fiber& fiber = *fibers_[static_cast<std::size_t>(current_)];
  fiber.state = where;
  leave(fiber);
}

void Fibers::sync() { wait(State::kAtBlock); }
void Fibers::sync_warp() { wait(State::kAtWarp); }

}  // namespace plimsoll::test
