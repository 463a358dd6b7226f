#pragma once

#include "core/graph/graph.h"
#include "core/plan/plan.h"
#include "sim/cost/cost_model.h"

namespace plimsoll {

/// No step that updates all weights takes less, in any plan of the model and recipe on the platform, as far as what
/// lasts from step to step decides it: a linear programme over the share of the weights that the CPU updates. Their
/// gradients leave the device and they come back, at a link's rate each, and the CPU works through them; the states of
/// the others, as far as the device does not hold them, come and leave; states that neither the device nor host memory
/// holds are read from the SSD and written to it. All of that may overlap, so the largest of these times counts.
/// `compute` is the time of forward and backward. Where it does not apply (a part of the model is frozen, several
/// ranks, no memory but the device's) it is `compute`.
Result<Nanoseconds> placement_bound(const Plan& plan, const Graph& graph, const CostModel& costs, Nanoseconds compute);

}  // namespace plimsoll
