#pragma once

#include <cstddef>
#include <memory>

namespace plimsoll::cuda {

/// A range of a device's addresses of which the front has memory behind it, in pieces (the driver's virtual memory management): it
/// grows and shrinks where it is. Nothing may use what is taken away.
class GrowingMemory {
 public:
  /// With none behind it yet; it can grow to `at_most` bytes. Null where the driver has no such memory. The device is the calling
  /// thread's.
  static std::unique_ptr<GrowingMemory> open(int device, std::size_t at_most);
  virtual ~GrowingMemory() = default;

  [[nodiscard]] virtual std::byte* data() const = 0;
  /// Has memory behind the first `bytes` at least, to the driver's next granule. False where the device has not so much or the
  /// driver refuses; then it is as it was.
  [[nodiscard]] virtual bool resize(std::size_t bytes) = 0;
};

}  // namespace plimsoll::cuda
