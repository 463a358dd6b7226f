#include "executor/cuda/device_clock.h"

namespace plimsoll {

DeviceClock::DeviceClock(Device& device, StreamId stream, HostClock::time_point origin) : device_(device) {
  constexpr int kTries = 8;
  const auto since = [&](HostClock::time_point time) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time - origin).count();
  };
  device.synchronize();
  for (int i = 0; i < kTries; ++i) {
    const DeviceEventId event = device.add_event();
    const std::int64_t before = since(HostClock::now());
    device.record(stream, event);
    device.synchronize(event);
    const std::int64_t after = since(HostClock::now());
    const Nanoseconds half((after - before) / 2);
    if (i > 0 && half >= uncertainty_) continue;
    event_ = event;
    uncertainty_ = half;
    base_ = Nanoseconds(before + half.count);
  }
}

}  // namespace plimsoll
