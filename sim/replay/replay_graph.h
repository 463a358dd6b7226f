#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/replay/launch_constants.h"
#include "sim/replay/recording_index.h"
#include "sim/replay/replay_options.h"
#include "sim/replay/stream_edges.h"

namespace plimsoll {

enum class ReplayNodeKind : std::uint8_t {
  kCall,    ///< a call, until its work is submitted
  kReturn,  ///< the rest of a call: it returns, or has waited
  kFlight,  ///< a submission on its way to the device
  kWork,    ///< device work
};

/// One stretch of the replay.
struct ReplayNode {
  ReplayNodeKind kind = ReplayNodeKind::kCall;
  std::uint32_t lane = 0;    ///< what runs one after another: a host thread, a stream, the flights of a thread
  std::uint32_t source = 0;  ///< index of the call or the work
  Nanoseconds gap;           ///< from when everything before it has ended to its start
  Nanoseconds duration;
  Nanoseconds recorded_start;
  Nanoseconds recorded_end;
  std::vector<std::uint32_t> after;  ///< nodes that must have ended, besides the one before it in its lane
};

/// What depends on what in a recording. Nodes of one lane stand in its order.
struct ReplayGraph {
  std::vector<ReplayNode> nodes;
  std::uint32_t lanes = 0;
  std::vector<bool> side_by_side;  ///< lanes whose nodes start in order and run at once (flights)
  Nanoseconds begin;               ///< when the recording begins
  std::size_t pinned = 0;          ///< work whose submission was not recorded, held at its recorded start
  std::size_t recorded_edges = 0;
  std::size_t inferred_edges = 0;
  std::size_t handovers = 0;  ///< from one host thread to another
  LaunchConstants constants;
};

/// Builds the graph of a recording: each thread's calls one after another with the pauses between them, each stream's work one
/// after another, work after its submission, what waits after what it waits for, streams after events. `skew` as for
/// RecordingIndex.
ReplayGraph build_replay_graph(const Recording& recording, const ReplayOptions& options, Nanoseconds skew);

}  // namespace plimsoll
