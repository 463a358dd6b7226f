#pragma once

#include "core/platform/platform.h"
#include "executor/collectives/job.h"

namespace plimsoll {

/// Latency and rate of messages between ranks 0 and 1, timed by sending some back and forth (a few hundred milliseconds). All
/// ranks must call; all get what rank 0 measured.
Link measure_link(Job& job);

}  // namespace plimsoll
