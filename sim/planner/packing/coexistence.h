#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/packing_task.h"

namespace plimsoll {

/// Which buffers of a task are in use at the same time.
struct Coexistence {
  /// The largest sets of buffers in use at one moment, none within its neighbour in time: what holds for all of them holds
  /// always.
  std::vector<std::vector<std::uint32_t>> crowds;
  std::vector<std::vector<std::uint32_t>> crowds_of;   ///< by buffer: indices into `crowds`
  std::vector<std::vector<std::uint32_t>> neighbours;  ///< by buffer: those that share a crowd with it

  explicit Coexistence(const PackingTask& task);
};

/// The largest sum of sizes in use at one moment; no packing is lower.
Bytes peak_load(const PackingTask& task);

/// The buffers in use at the first moment of the largest load: when that exceeds the capacity, they are why nothing fits.
std::vector<std::uint32_t> buffers_at_peak(const PackingTask& task);

}  // namespace plimsoll
