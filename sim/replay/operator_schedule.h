#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/trace/operator_trace.h"
#include "sim/replay/replay_options.h"

namespace plimsoll {

/// An execution trace with times: each node starts when all that it waits for has ended and its lane is free.
struct OperatorSchedule {
  std::vector<Nanoseconds> start;
  std::vector<Nanoseconds> end;
  Nanoseconds makespan;
  Nanoseconds critical_path;           ///< the longest chain of dependencies, lanes left aside: no schedule is shorter
  std::vector<std::uint32_t> on_path;  ///< its nodes, first to last
  std::size_t untimed = 0;             ///< nodes without a duration; they take no time
};

/// Runs the nodes in simulated time. A lane runs one node at a time, of those that may start the one that could first, then the one
/// with the smallest id: each thread of the host, each stream of a device, and the collectives of a device beside its kernels. Rules
/// of kind kernel scale device computation, copy scales loads, stores, sends and collectives, call scales the host's operators. Fails
/// when nodes wait for each other in a circle, or none has a duration.
Result<OperatorSchedule> schedule_operators(const OperatorTrace& trace, const std::vector<ScaleRule>& scales = {});

/// The schedule as a recording: operators of the host as ranges of their threads, the rest as device work.
Recording recording_of(const OperatorTrace& trace, const OperatorSchedule& schedule);

}  // namespace plimsoll
