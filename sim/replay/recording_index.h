#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/trace/recording.h"

namespace plimsoll {

inline constexpr std::uint32_t kNoIndex = 0xffffffffu;

/// Who submitted what: the ways from a recording's calls to its device work and back. Indices are into Recording's lists.
class RecordingIndex {
 public:
  /// The recording, sorted, must outlive the index. Clocks of host and device may be off by `skew`: work may seem to begin that much before the call that submitted it.
  explicit RecordingIndex(const Recording& recording, Nanoseconds skew = {});

  /// One stream's work in the order in which it ran, which is the order of its submission.
  struct Stream {
    DeviceStream on;
    std::vector<std::uint32_t> work;
    std::vector<Nanoseconds> submitted;  ///< when the work up to here had been submitted; a running maximum
  };

  [[nodiscard]] const std::vector<Stream>& streams() const { return streams_; }
  /// The call that submitted it; kNoIndex when the recording began later.
  [[nodiscard]] std::uint32_t call_of(std::uint32_t work) const { return call_of_[work]; }
  /// What the call submitted, by start.
  [[nodiscard]] const std::vector<std::uint32_t>& work_of(std::uint32_t call) const { return work_of_[call]; }
  /// Calls of each thread in order.
  [[nodiscard]] const std::vector<std::vector<std::uint32_t>>& threads() const { return threads_; }
  /// The call with that correlation id; kNoIndex when there is none. Of several (ids of 32 bits come round again), the last that had
  /// begun at `time`, or the first.
  [[nodiscard]] std::uint32_t call(std::uint32_t process, std::uint64_t correlation, Nanoseconds time) const;

  /// The last work of the stream (an index into streams()) that had been submitted at `time`; kNoIndex when there was none.
  [[nodiscard]] std::uint32_t last_submitted(std::size_t stream, Nanoseconds time) const;
  /// The first work of the stream that was submitted at `time` or later.
  [[nodiscard]] std::uint32_t first_submitted(std::size_t stream, Nanoseconds time) const;
  /// The streams with that number in the process, one of each context.
  [[nodiscard]] std::vector<std::size_t> numbered(std::uint32_t process, std::int64_t stream) const;

 private:
  const std::vector<HostCall>& host_calls_;
  std::vector<Stream> streams_;
  std::vector<std::uint32_t> call_of_;
  std::vector<std::vector<std::uint32_t>> work_of_;
  std::vector<std::vector<std::uint32_t>> threads_;
  using CorrelationId = std::pair<std::uint32_t, std::uint64_t>;  ///< in a process
  std::map<CorrelationId, std::uint32_t> calls_;
  std::map<CorrelationId, std::vector<std::uint32_t>> later_calls_;  ///< with an id that a call before them had, by start

  void add_call(const Recording& recording, std::uint32_t i);
};

}  // namespace plimsoll
