#pragma once

#include <memory>
#include <vector>

#include "executor/cpu/arena_set.h"
#include "executor/cpu/program.h"
#include "executor/cuda/device.h"

namespace plimsoll {

/// A plan's arenas where its device is: one reservation of the device's memory for each of its spaces, host memory prefaulted and
/// pinned at its exact size, drives as files. Beside them the streams' scratch and a few words that the device hands to the host.
class DeviceArenas {
 public:
  /// Throws EnvironmentError that says how many bytes are missing, before taking any; and `scratch` bytes for each of `streams`.
  DeviceArenas(const Plan& plan, std::shared_ptr<Device> device, const DriveOptions& drives, Bytes scratch, std::size_t streams);
  ~DeviceArenas();
  DeviceArenas(const DeviceArenas&) = delete;
  DeviceArenas& operator=(const DeviceArenas&) = delete;

  /// Makes them the arenas of `plan`, which has the same spaces, with room for `scratch` bytes a stream at least. What both have
  /// keeps its contents, but may move to another address. Throws as the constructor does; then some may be longer, and nothing is
  /// lost. Drives must be started again. Nothing may run.
  void resize(const Plan& plan, Bytes scratch);

  [[nodiscard]] const ArenaSet& host() const { return host_; }
  [[nodiscard]] std::byte* device_memory(SpaceId space) const { return device_memory_[space.index].data; }
  [[nodiscard]] std::byte* scratch(std::size_t stream) const { return scratch_ + stream * scratch_size_; }
  [[nodiscard]] Bytes reserved_beside() const { return Bytes(static_cast<std::int64_t>(scratch_size_ * streams_)); }

  /// Readies the drives for what these programs move, to and from the device too. Throws as Drive::start.
  void start_drives(std::span<const Program* const> programs) const;

  /// The body with every use at its address, on the device or not.
  [[nodiscard]] Program program_of(const Plan& plan, const Body& body) const;
  /// What nothing has written reads as NaN.
  void fill_canary(const Plan& plan, StreamId stream);
  /// The same, but for what `plan` keeps from step to step.
  void fill_canary_outside_state(const Plan& plan, StreamId stream);
  /// As ArenaSet's.
  void count_drives_from_state(const Plan& plan) { host_.count_drives_from_state(plan); }

 private:
  /// The device's memory of one space.
  struct DeviceMemory {
    std::byte* data = nullptr;  ///< null where it is no device's
    Bytes size;
  };
  [[nodiscard]] bool is_on_device(const std::byte* place) const;
  void stop_drives() const;
  void resize_device(const Plan& plan);
  void resize_device(DeviceMemory& memory, Bytes bytes);
  void resize_scratch(Bytes scratch);
  void resize_host(const Plan& plan);
  void pin_host(const Plan& plan);
  void unpin_host();
  void release();

  std::shared_ptr<Device> device_;
  ArenaSet host_;
  std::vector<DeviceMemory> device_memory_;  ///< by space
  std::vector<std::span<std::byte>> pinned_;
  std::size_t scratch_size_;
  std::size_t streams_;
  std::byte* scratch_ = nullptr;
};

}  // namespace plimsoll
