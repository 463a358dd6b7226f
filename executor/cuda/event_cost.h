#pragma once

#include "executor/cuda/event_pool.h"

namespace plimsoll {

/// By how much longer a traced step's kernels take than those of any other step, as a device comes to rest before each event.
struct EventCost {
  Nanoseconds within;   ///< from an event to the next, with a kernel between them, beyond the kernel's time in a row of kernels
  Nanoseconds between;  ///< with nothing between them
};

/// Found on the smallest of kernels, which wait in a queue as those of a traced step do; never below 0; nothing where the device has no
/// room for three numbers. Waits for the device.
EventCost find_event_cost(EventPool& events, StreamId stream);

}  // namespace plimsoll
