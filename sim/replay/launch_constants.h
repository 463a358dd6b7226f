#pragma once

#include <array>
#include <map>

#include "sim/replay/recording_index.h"

namespace plimsoll {

/// What a submission costs besides the call, on this machine: measured in the recording itself, one number for all work of a
/// sort.
struct LaunchConstants {
  /// From the end of the work before on a stream to the start of the next, which had been waiting; by DeviceWorkKind.
  std::array<Nanoseconds, 3> gap{};
  /// From a call's end to the start of its work on an idle stream, by the call's name.
  std::map<std::uint32_t, Nanoseconds> latency;

  [[nodiscard]] Nanoseconds gap_of(const DeviceWork& work) const { return gap[static_cast<std::size_t>(work.kind)]; }
  [[nodiscard]] Nanoseconds latency_of(const HostCall& call) const;
};

/// Gaps: the mean of those up to four times their median, of work that had been submitted 5 µs or more before its stream was
/// free. Latencies: the median over work that found its stream idle, without what took four times as long as a quarter of it.
LaunchConstants measure_launches(const Recording& recording, const RecordingIndex& index);

}  // namespace plimsoll
