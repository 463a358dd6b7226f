#pragma once

#include "executor/cuda/event_pool.h"

namespace plimsoll {

/// By how much longer a kernel takes between two events of its own than in a row of kernels: the device comes to rest before each event.
/// Found on the smallest of kernels, which wait in a queue as those of a traced step do; never below 0. Waits for the device.
Nanoseconds find_event_cost(EventPool& events, StreamId stream);

}  // namespace plimsoll
