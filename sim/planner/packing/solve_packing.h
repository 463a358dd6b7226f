#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/planner/packing/greedy_packing.h"

namespace plimsoll {

/// How much an address planner may try. The answer depends on the counts alone, not on the number of threads, unless
/// `stop` ends it.
struct PackingLimits {
  std::int64_t attempts = 30000;          ///< orders that the exact search tries, with more and more decisions each
  std::int64_t climbs = 200;              ///< of the greedy one
  unsigned threads = 0;                   ///< 0: one a core
  std::function<bool()> stop = nullptr;   ///< asked now and then, from several threads
};

enum class PackingVerdict : std::uint8_t {
  kPacked,
  kImpossible,  ///< proven: the load exceeds the capacity, or the search was exhausted
  kUndecided,   ///< the limits were reached first
};

struct PackingAnswer {
  PackingVerdict verdict = PackingVerdict::kUndecided;
  TaskPacking packing;  ///< of kPacked
};

/// Looks for a packing within `capacity`: greedy first, then the canonical search over a portfolio of orders (duration, area,
/// load with area or size, plain and disturbed) on all cores; of the orders that succeed, the first counts.
PackingAnswer fit_packing(const PackingTask& task, Bytes capacity, const PackingLimits& limits = {});

/// The lowest packing that the limits allow: the capacity is lowered towards the load for as long as a packing is found.
/// Never undecided; kImpossible when fixed offsets collide.
PackingAnswer lowest_packing(const PackingTask& task, const PackingLimits& limits = {});

}  // namespace plimsoll
