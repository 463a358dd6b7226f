#pragma once

#include <chrono>

#include "executor/cuda/event_pool.h"

namespace plimsoll {

/// When a device's events were reached, by the host's clock. One event is bracketed by two readings of that clock; the others are
/// so much later by the device's own.
class DeviceClock {
 public:
  using HostClock = std::chrono::steady_clock;

  /// Waits until the device is idle, then takes the narrowest of some brackets. Its event is the pool's again when it goes.
  DeviceClock(EventPool& events, StreamId stream, HostClock::time_point origin);
  ~DeviceClock() { events_.give_back(event_); }
  DeviceClock(const DeviceClock&) = delete;
  DeviceClock& operator=(const DeviceClock&) = delete;

  /// Of a reached event, since the origin.
  [[nodiscard]] Nanoseconds at(DeviceEventId event) const { return base_ + events_.device().between(event_, event); }
  /// Half the bracket: by so much all of them may be off together.
  [[nodiscard]] Nanoseconds uncertainty() const { return uncertainty_; }

 private:
  EventPool& events_;
  DeviceEventId event_;
  Nanoseconds base_;
  Nanoseconds uncertainty_;
};

}  // namespace plimsoll
