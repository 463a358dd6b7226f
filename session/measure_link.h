#pragma once

#include "core/platform/platform.h"
#include "executor/collectives/job.h"

namespace plimsoll {

/// Latency and rate of messages between ranks 0 and 1, timed by sending some back and forth (a few hundred milliseconds). All
/// ranks must call; all get what rank 0 measured.
Link measure_link(Job& job);

/// From the median seconds that a message without content and one of `bytes` took. What a busy computer makes the first one wait is
/// taken for latency as far as half of the second one's time.
Link link_between(double empty_seconds, double seconds, Bytes bytes);

}  // namespace plimsoll
