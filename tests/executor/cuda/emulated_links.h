#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "executor/cuda/device_links.h"
#include "tests/executor/cuda/emulated_device.h"

namespace plimsoll::test {

/// Messages between emulated devices of one process, matched by their order alone, as NCCL's are. With `rendezvous` a send ends
/// only when its receive has begun: no memory on the way.
class LinkHub {
 public:
  explicit LinkHub(std::uint32_t ranks, bool rendezvous) : ranks_(ranks), rendezvous_(rendezvous) {}

  using Line = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  ///< link, from, to

  [[nodiscard]] std::uint32_t ranks() const { return ranks_; }
  /// Which message of the line it is.
  std::uint64_t send(const Line& line, std::span<const std::byte> bytes);
  std::uint64_t begin_receive(const Line& line);
  [[nodiscard]] bool has_arrived(const Line& line, std::uint64_t message);
  [[nodiscard]] bool may_end_send(const Line& line, std::uint64_t message);
  std::vector<std::byte> take(const Line& line);

 private:
  struct Traffic {
    std::deque<std::vector<std::byte>> messages;
    std::uint64_t sent = 0, begun = 0, taken = 0;
  };

  std::uint32_t ranks_;
  bool rendezvous_;
  std::mutex mutex_;
  std::map<Line, Traffic> lines_;
};

/// One rank's device on a hub.
class EmulatedLinks final : public DeviceLinks {
 public:
  EmulatedLinks(LinkHub& hub, std::uint32_t rank, EmulatedDevice& device) : hub_(hub), rank_(rank), device_(device) {}
  [[nodiscard]] std::uint32_t rank() const override { return rank_; }
  [[nodiscard]] std::uint32_t ranks() const override { return hub_.ranks(); }
  void exchange(StreamId stream, std::uint32_t link, std::span<const OutgoingBytes> out,
                std::span<const IncomingBytes> in) override;

 private:
  LinkHub& hub_;
  std::uint32_t rank_;
  EmulatedDevice& device_;
};

}  // namespace plimsoll::test
