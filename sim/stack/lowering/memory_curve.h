#pragma once

#include <array>
#include <optional>
#include <vector>

#include "formats/runs/run_file.h"
#include "sim/stack/tape/storage_log.h"

namespace plimsoll {

/// What a program holds of a GPU's memory at one moment.
struct HeldMemory {
  std::array<Bytes, kHoldings> blocks{};  ///< by what they hold
  Bytes requested;
  Bytes allocated;
  Bytes reserved;
};

/// Bytes over a step, as samples: of space "gpu0" blocks by category, of "gpu0 allocator" what is requested, allocated and
/// reserved. Of several moments at one time the one counts at which most is allocated.
class MemoryCurve {
 public:
  void note(Nanoseconds time, const HeldMemory& held);
  /// All samples, and nothing more can be noted.
  std::vector<MemorySample> finish();

 private:
  void write();

  std::optional<HeldMemory> last_;
  HeldMemory most_;
  HeldMemory now_;
  Nanoseconds time_;
  bool noted_ = false;
  std::vector<MemorySample> samples_;
};

}  // namespace plimsoll
