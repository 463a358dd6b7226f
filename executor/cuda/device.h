#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "core/base/quantity.h"
#include "core/base/result.h"
#include "core/base/strong_id.h"
#include "executor/cuda/launch/device_launch.h"
#include "executor/tiers/block_io.h"

namespace plimsoll {

using StreamId = StrongId<struct StreamTag>;
using DeviceEventId = StrongId<struct DeviceEventTag>;
using DeviceGraphId = StrongId<struct DeviceGraphTag>;

/// What a driver says of its device.
struct DeviceInfo {
  std::string name;
  int major = 0, minor = 0;  ///< compute capability
  Bytes total, free;         ///< of its memory; other processes' is neither free nor ours
  std::string software;      ///< driver, runtime, and what multiplies matrices
};

/// Thrown when the device has no room for so much.
class DeviceFull : public EnvironmentError {
 public:
  DeviceFull(Error error, Bytes missing) : EnvironmentError(std::move(error)), missing_(missing) {}
  [[nodiscard]] Bytes missing() const { return missing_; }

 private:
  Bytes missing_;
};

/// A processor with memory, streams and events of its own: CUDA's, or the one that tests run on the host. Work on one stream
/// runs in the order in which it was given, streams beside each other; `wait` alone orders them. Any thread may call.
/// Everything throws EnvironmentError where the device fails.
class Device {
 public:
  virtual ~Device() = default;

  [[nodiscard]] virtual DeviceInfo info() const = 0;

  /// Memory of the device, aligned for any plan; throws DeviceFull. And host memory that copies may run to and from in the
  /// background, until it is let go.
  virtual std::byte* reserve(Bytes bytes) = 0;
  virtual void release(std::byte* memory) = 0;
  /// Makes memory of `held` bytes `wanted` long, where it is or elsewhere, with what both lengths hold. When it throws DeviceFull it is
  /// as it was. Nothing may run.
  virtual std::byte* resize(std::byte* memory, Bytes held, Bytes wanted) = 0;
  virtual void pin(std::span<std::byte> memory) = 0;
  virtual void unpin(std::span<std::byte> memory) = 0;

  /// Drives will exchange data with the device's memory without the host's (GPUDirect Storage), and what is reserved from now on is
  /// made for it. Throws EnvironmentError that says what is missing, and what to do without.
  virtual void prepare_direct_storage() = 0;
  /// Then: the way between a file that bypasses the page cache and `memory` of the device (sorted), which transfers will touch. It
  /// must end before the file does and before that memory is resized or let go. Any thread may call it; nobody can look at the bytes.
  virtual std::unique_ptr<BlockIo> open_direct_io(const DriveFile& file, std::span<const std::span<std::byte>> memory) = 0;

  virtual StreamId add_stream() = 0;
  virtual DeviceEventId add_event() = 0;

  /// Between host and device memory, whichever the addresses are in.
  virtual void copy(StreamId stream, std::byte* to, const std::byte* from, Bytes bytes) = 0;
  virtual void fill(StreamId stream, std::byte* memory, std::byte value, Bytes bytes) = 0;
  /// Where `flag` (8 bytes of the device's memory, or null) is all zeros when the launch's turn comes, it does nothing.
  virtual void launch(StreamId stream, const cuda::DeviceLaunch& launch, const std::byte* flag) = 0;

  /// What `work` gives to the stream, from this thread, is kept instead of done. It can then be put on the stream as one, any number
  /// of times; the device keeps each that was ever made.
  virtual DeviceGraphId capture(StreamId stream, const std::function<void()>& work) = 0;
  virtual void run(StreamId stream, DeviceGraphId graph) = 0;

  virtual void record(StreamId stream, DeviceEventId event) = 0;
  /// What comes later on the stream starts after the event's last record.
  virtual void wait(StreamId stream, DeviceEventId event) = 0;
  /// Blocks the calling thread until the event's last record has been reached, or all work is done.
  virtual void synchronize(DeviceEventId event) = 0;
  virtual void synchronize() = 0;
  /// What the driver knows the stream by, for libraries that put work on it; makes the device the calling thread's. Null where
  /// no driver is.
  [[nodiscard]] virtual void* native_stream(StreamId stream) const = 0;
  /// Time from one event to another; both reached.
  [[nodiscard]] virtual Nanoseconds between(DeviceEventId from, DeviceEventId to) const = 0;
};

/// Whether this build has the CUDA toolkit's code, and what it was built with.
std::string cuda_build();

/// A CUDA device by its number on this computer. Errors say what is missing: the toolkit when this was built, a driver, a device.
Result<std::shared_ptr<Device>> open_cuda_device(std::uint32_t number = 0);

}  // namespace plimsoll
