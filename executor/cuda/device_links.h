#pragma once

#include <cstdint>
#include <span>

#include "executor/collectives/transport.h"
#include "executor/cuda/device.h"

namespace plimsoll {

/// Carries bytes of this rank's device to and from other ranks' devices: NCCL's, or the one that tests play on the host.
class DeviceLinks {
 public:
  virtual ~DeviceLinks() = default;

  [[nodiscard]] virtual std::uint32_t rank() const = 0;
  [[nodiscard]] virtual std::uint32_t ranks() const = 0;

  /// Puts sends and receives, which take place at once, on the stream, and returns; `link` is one of the job's LinkPlan. What
  /// one rank sends another on a link arrives in the order of the calls. All calls of one link are on one stream. Any thread may call.
  /// Throws EnvironmentError where the library fails.
  virtual void exchange(StreamId stream, std::uint32_t link, std::span<const OutgoingBytes> out,
                        std::span<const IncomingBytes> in) = 0;
};

}  // namespace plimsoll
