#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace plimsoll::cuda {

/// A range of a device's addresses of which the front has memory behind it, in pieces (the driver's virtual memory management): it
/// grows and shrinks where it is. Nothing may use what is taken away.
class GrowingMemory {
 public:
  /// With none behind it yet; it can grow to `at_most` bytes. Null where the driver has no such memory. The device is the calling
  /// thread's. With `for_peers` other PCIe devices may reach it, drives among them, where the driver has that.
  static std::unique_ptr<GrowingMemory> open(int device, std::size_t at_most, bool for_peers);
  virtual ~GrowingMemory() = default;

  [[nodiscard]] virtual std::byte* data() const = 0;
  /// The pieces that `range` reaches into, each whole.
  [[nodiscard]] virtual std::vector<std::span<std::byte>> pieces_under(std::span<std::byte> range) const = 0;
  /// Has memory behind the first `bytes` at least, to the driver's next granule. False where the device has not so much or the
  /// driver refuses; then it is as it was.
  [[nodiscard]] virtual bool resize(std::size_t bytes) = 0;
};

}  // namespace plimsoll::cuda
