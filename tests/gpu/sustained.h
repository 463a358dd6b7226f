#pragma once

#include <algorithm>
#include <functional>

#include "executor/cuda/device.h"

namespace plimsoll::gpu {

/// Seconds of one launch, made over and over for at least so long.
inline double sustained(Device& device, StreamId stream, double while_seconds, const std::function<void()>& launch) {
  const DeviceEventId begin = device.add_event(), end = device.add_event();
  std::int64_t launches = 1;
  while (true) {
    device.record(stream, begin);
    for (std::int64_t i = 0; i < launches; ++i) launch();
    device.record(stream, end);
    device.synchronize(end);
    const double seconds = to_seconds(device.between(begin, end));
    if (seconds >= while_seconds) return seconds / static_cast<double>(launches);
    const double enough = 1.2 * while_seconds * static_cast<double>(launches) / std::max(seconds, 1e-5);
    launches = std::max(2 * launches, static_cast<std::int64_t>(enough));
  }
}

}  // namespace plimsoll::gpu
