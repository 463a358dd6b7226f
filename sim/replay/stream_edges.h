#pragma once

#include <cstdint>
#include <vector>

#include "sim/replay/launch_constants.h"
#include "sim/replay/recording_index.h"

namespace plimsoll {

/// Device work that had to wait for work of another stream.
struct StreamEdge {
  std::uint32_t from = 0;  ///< indices into Recording::work
  std::uint32_t to = 0;
};

/// How the edges were found.
struct StreamEdges {
  std::vector<StreamEdge> edges;
  std::size_t recorded = 0;  ///< by records that tell which stream waits for which event
  std::size_t inferred = 0;  ///< a stream was told to wait, nobody noted for what, and work of another stream ended just before
};

/// Finds which work waited for another stream's: from the recorded waits where they name the event's stream, else where a
/// cudaStreamWaitEvent (or a graph) came before work that then started later than its launch and its own stream explain.
StreamEdges find_stream_edges(const Recording& recording, const RecordingIndex& index, const LaunchConstants& constants);

}  // namespace plimsoll
