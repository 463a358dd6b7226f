#include "executor/cuda/device_clock.h"

#include <utility>

namespace plimsoll {

DeviceClock::DeviceClock(EventPool& events, StreamId stream, HostClock::time_point origin) : events_(events) {
  constexpr int kTries = 8;
  const auto since = [&](HostClock::time_point time) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time - origin).count();
  };
  Device& device = events.device();
  device.synchronize();
  DeviceEventId tried = events.take();
  for (int i = 0; i < kTries; ++i) {
    const std::int64_t before = since(HostClock::now());
    device.record(stream, tried);
    device.synchronize(tried);
    const std::int64_t after = since(HostClock::now());
    const Nanoseconds half((after - before) / 2);
    if (i > 0 && half >= uncertainty_) continue;
    std::swap(event_, tried);  // the best stays; the one before it may be recorded anew
    if (!tried.valid()) tried = events.take();
    uncertainty_ = half;
    base_ = Nanoseconds(before + half.count);
  }
  events.give_back(tried);
}

}  // namespace plimsoll
