#pragma once

#include <functional>
#include <span>
#include <vector>

#include "executor/cpu/state_store.h"
#include "executor/cuda/device_arenas.h"

namespace plimsoll {

/// The state that a plan keeps from step to step, wherever it lies; what is on the device passes through host memory. Not for use
/// while a step runs.
class DeviceStates {
 public:
  /// Keeps references.
  DeviceStates(const Plan& plan, const Program& step, const DeviceArenas& arenas, Device& device, StreamId stream);

  /// As StateStore's; both may pass through one place of the host, so `fill` must not read what `read` gave.
  [[nodiscard]] std::span<const std::byte> read(const StateBinding& binding, std::int64_t steps_done) const;
  void write(const StateBinding& binding, const std::function<void(std::span<std::byte>)>& fill) const;

 private:
  /// Where a slot of a buffer lies on the device; null when it lies elsewhere.
  [[nodiscard]] std::byte* on_device(const Buffer& buffer, std::uint32_t slot) const;
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) const;
  [[nodiscard]] std::size_t size_of_state(const StateBinding& binding) const;

  const Plan& plan_;
  const DeviceArenas& arenas_;
  Device& device_;
  StreamId stream_;
  ParameterLayout layout_;
  StateStore elsewhere_;
  mutable std::vector<std::byte> passing_;  ///< what comes from the device or goes there
};

}  // namespace plimsoll
