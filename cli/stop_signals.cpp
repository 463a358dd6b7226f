#include "cli/stop_signals.h"

#include <csignal>

namespace plimsoll {
namespace {

std::atomic<bool> stop_requested{false};

extern "C" void request_stop(int) { stop_requested = true; }

}  // namespace

const std::atomic<bool>& stop_on_signals() {
  struct sigaction action = {};
  action.sa_handler = request_stop;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  return stop_requested;
}

}  // namespace plimsoll
