#include "cli/print/waiting_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace plimsoll {

WaitingLine::WaitingLine(std::string what) : what_(std::move(what)) {
  if (isatty(STDERR_FILENO) == 1) thread_ = std::thread([this] { show_until_done(); });
}

WaitingLine::~WaitingLine() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  ended_.notify_one();
  thread_.join();
}

void WaitingLine::show_until_done() {
  std::unique_lock lock(mutex_);
  int seconds = 0;
  while (!ended_.wait_for(lock, std::chrono::seconds(1), [this] { return done_; })) {
    const double share = share_;
    const std::string done = share < 0 ? "" : fmt::format("{:.0f} %, ", 100 * share);
    std::fputs(fmt::format("\r\033[Kplimsoll: {}, {}{} s", what_, done, ++seconds).c_str(), stderr);
  }
  if (seconds > 0) std::fputs("\r\033[K", stderr);
}

}  // namespace plimsoll
