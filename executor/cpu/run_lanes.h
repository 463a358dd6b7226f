#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/trace/trace.h"
#include "executor/cpu/dispatcher.h"
#include "executor/cpu/execute.h"
#include "executor/executor.h"

namespace plimsoll {

/// Steps of a body to run over threads. Step numbers in callbacks and results are absolute: first_step + place.
struct LaneRun {
  const Platform& platform;
  const FlatBody& body;
  std::int64_t first_step = 0;
  std::uint32_t steps = 0;
  std::int64_t first_traced_step = 0;  ///< events are kept from this step on
  std::uint64_t jitter_seed = 0;       ///< not 0: sleeps of 0 to 200 µs before every instruction
  const std::atomic<bool>* stop = nullptr;
  std::function<Outcome(std::uint32_t instruction, std::int64_t step)> execute;  ///< called from lane threads
  std::function<void(const StepSummary&)> on_step;  ///< called from the calling thread, in order; may be empty
  SegmentGrowth growth;                ///< `more` is called from the calling thread
};

/// What happened; times are nanoseconds since the first lane could start.
struct LaneRecord {
  std::vector<TraceEvent> events;  ///< by step, then instruction
  std::vector<StepSummary> steps;  ///< without learning rates
};

/// Runs the steps with one thread a queue lane and returns when the last has ended, or after the steps in flight when
/// `stop` turned true. Whatever a callback throws ends the run and is thrown on, once all threads have stopped.
LaneRecord run_lanes(const LaneRun& run);

}  // namespace plimsoll
