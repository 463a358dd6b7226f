#pragma once

#include <mutex>
#include <vector>

#include "executor/cuda/device.h"

namespace plimsoll {

/// Events that runs take and give back, as a device keeps each one that it ever made.
class EventPool {
 public:
  explicit EventPool(Device& device) : device_(device) {}
  [[nodiscard]] Device& device() const { return device_; }
  DeviceEventId take() {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) return device_.add_event();
    const DeviceEventId event = free_.back();
    free_.pop_back();
    return event;
  }
  void give_back(DeviceEventId event) {
    const std::scoped_lock lock(mutex_);
    if (event.valid()) free_.push_back(event);
  }

 private:
  Device& device_;
  std::mutex mutex_;
  std::vector<DeviceEventId> free_;
};

}  // namespace plimsoll
