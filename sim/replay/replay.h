#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/trace/recording.h"
#include "sim/replay/replay_graph.h"

namespace plimsoll {

/// Where the time of a chain goes.
struct ReplayPath {
  Nanoseconds total;                 ///< from the chain's beginning to the end of everything
  Nanoseconds device;                ///< device work
  Nanoseconds calls;                 ///< CUDA calls
  Nanoseconds host;                  ///< the host between calls
  Nanoseconds launch;                ///< on the way to the device, and between pieces of work
  std::vector<std::uint32_t> nodes;  ///< of the graph, first to last
};

/// A recording that was run again in simulated time.
struct Replayed {
  ReplayGraph graph;
  std::vector<Nanoseconds> start;  ///< of each node, from the recording's beginning
  std::vector<Nanoseconds> end;
  std::size_t events = 0;  ///< pieces of device work
  Nanoseconds traced;      ///< from the recording's beginning to its last end
  Nanoseconds predicted;
  Nanoseconds start_error_p50;  ///< distances of predicted and recorded starts of device work
  Nanoseconds start_error_p90;
  Nanoseconds start_error_worst;
  ReplayPath path;

  /// (predicted − traced) ÷ traced.
  [[nodiscard]] double error() const;
};

/// Rebuilds what depends on what, and runs it under the simulator's rules with the recorded durations. Only durations, pauses of
/// host threads and the order of submission are taken from the recording; when device work starts is found anew. Fails when there
/// is no device work, or more than 2³⁰ nodes.
Result<Replayed> replay(const Recording& recording, const ReplayOptions& options = {});

}  // namespace plimsoll
