#pragma once

#include <cstdint>

#include "core/plan/plan.h"

namespace plimsoll {

/// Memory that the process needs which runs a plan on the CPU.
struct ProcessNeed {
  Bytes arenas;   ///< of every space but drives, in whole pages
  Bytes events;   ///< of the traced steps
  Bytes program;  ///< code and data of libraries, their buffers, threads with their scratch, the plan itself

  [[nodiscard]] Bytes total() const { return arenas + events + program; }
};

/// Bytes that so many events of a trace take.
Bytes events_kept(std::int64_t events);

/// Arenas are exact; the rest follows constants that were fitted on measured runs
/// (data/calibration/process_memory.csv).
ProcessNeed process_need(const Plan& plan, std::int64_t traced_steps);

}  // namespace plimsoll
