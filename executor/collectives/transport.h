#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace plimsoll {

/// Bytes on their way to or from another rank.
struct OutgoingBytes {
  std::uint32_t rank = 0;
  std::span<const std::byte> bytes;
};
struct IncomingBytes {
  std::uint32_t rank = 0;
  std::span<std::byte> bytes;
};

/// Carries bytes between the ranks of a job. Any thread may call, each with a channel of its own; what one rank sends another
/// on a channel arrives in the order of the calls.
class Transport {
 public:
  virtual ~Transport() = default;

  [[nodiscard]] virtual std::uint32_t rank() const = 0;
  [[nodiscard]] virtual std::uint32_t ranks() const = 0;

  /// Sends and receives at once, and returns when everything sent may be overwritten and everything received is there. Throws
  /// EnvironmentError when the job ended meanwhile, naming the rank that was waited for.
  virtual void exchange(std::uint32_t channel, std::span<const OutgoingBytes> out, std::span<const IncomingBytes> in) = 0;

  /// An instruction of that step starts: the rank is alive and gets on.
  virtual void note_instruction(std::int64_t step) { static_cast<void>(step); }

  /// Between two stretches of steps this rank does what takes its time, and the others wait for it: that is no standstill.
  virtual void note_pause(bool pauses) { static_cast<void>(pauses); }

  void send(std::uint32_t to, std::uint32_t channel, std::span<const std::byte> bytes) {
    const OutgoingBytes out{to, bytes};
    exchange(channel, {&out, 1}, {});
  }
  void receive(std::uint32_t from, std::uint32_t channel, std::span<std::byte> bytes) {
    const IncomingBytes in{from, bytes};
    exchange(channel, {}, {&in, 1});
  }
};

}  // namespace plimsoll
