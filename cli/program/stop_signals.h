#pragma once

#include <atomic>

namespace plimsoll {

/// From now on the first SIGINT, SIGTERM or SIGHUP turns the answer true, so that the command ends where nothing is lost; a second
/// one ends the program at once.
const std::atomic<bool>& stop_on_signals();

}  // namespace plimsoll
