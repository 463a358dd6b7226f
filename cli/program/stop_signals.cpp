#include "cli/program/stop_signals.h"

#include <csignal>
#include <initializer_list>

namespace plimsoll {
namespace {

std::atomic<bool> stop_requested{false};

/// The second one, of whatever kind, has its usual effect.
extern "C" void request_stop(int signal) {
  if (!stop_requested.exchange(true)) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);  // when this returns
}

}  // namespace

const std::atomic<bool>& stop_on_signals() {
  struct sigaction action = {};
  action.sa_handler = request_stop;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  return stop_requested;
}

}  // namespace plimsoll
