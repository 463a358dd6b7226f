#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/plan/expand.h"
#include "sim/cost/cost_model.h"
#include "sim/des/fair_share.h"

namespace plimsoll {

/// What one execution takes, for all instructions of one queue that cost the same.
struct Work {
  Nanoseconds overhead;         ///< to issue it; before the instruction's event starts
  Nanoseconds latency;          ///< of a transfer, before the first byte: holds no resource
  Nanoseconds duration;         ///< alone, after the latency
  std::vector<Demand> demands;  ///< units a second while the duration runs at full speed
  double weight = 1.0;          ///< see Activity

  [[nodiscard]] Activity activity() const { return {demands, weight}; }
};

/// The work of each instruction of a body.
struct WorkTable {
  std::vector<Work> works;
  std::vector<std::uint32_t> work_of;  ///< index into works, one per instruction

  [[nodiscard]] const Work& of(std::uint32_t instruction) const { return works[work_of[instruction]]; }
};

/// Asks `costs` once for each distinct piece of work of `body`. Fails as the cost model does, naming the instruction;
/// with kUncalibrated for a collective without an exchange, or on a platform without a link to other ranks; and with kDefect for a copy without operands or a link.
///
/// Weights: core-holding work is slowed alike (weight 1). Transfers share bytes a second alike, so a transfer's weight
/// is the rate of the platform's fastest link over its own rate alone: on a shared uplink all flows get equal bytes,
/// and where transfers meet kernels (host DRAM) one over the fastest link counts as a kernel does. A queue's own weight
/// multiplies these.
Result<WorkTable> cost_instructions(const Plan& plan, const FlatBody& body, const CostModel& costs);

}  // namespace plimsoll
