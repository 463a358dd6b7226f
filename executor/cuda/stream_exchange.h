#pragma once

#include "executor/collectives/run_exchange.h"
#include "executor/cuda/device_links.h"

namespace plimsoll {

/// The steps of an exchange, put on a stream one after another: sums are made by the device's own kernel in the order of the
/// ranks, so they have the host's bits, which a library's reduction would not.
class StreamExchange final : public ExchangeSteps {
 public:
  StreamExchange(Device& device, StreamId stream, DeviceLinks& links, std::uint32_t link)
      : device_(device), stream_(stream), links_(links), link_(link) {}

  [[nodiscard]] std::uint32_t rank() const override { return links_.rank(); }
  void exchange(std::uint32_t channel, std::span<const OutgoingBytes> out, std::span<const IncomingBytes> in) override;
  void add(DType dtype, std::span<std::byte> sum, std::span<const std::byte> term) override {
    put_sum(device_, stream_, dtype, sum, term);
  }
  void copy(std::span<std::byte> to, std::span<const std::byte> from) override;

  /// sum ← sum + term on the stream; both on the device.
  static void put_sum(Device& device, StreamId stream, DType dtype, std::span<std::byte> sum, std::span<const std::byte> term);

 private:
  Device& device_;
  StreamId stream_;
  DeviceLinks& links_;
  std::uint32_t link_;
};

}  // namespace plimsoll
