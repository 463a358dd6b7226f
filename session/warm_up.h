#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "session/run_session.h"
#include "sim/cost/calibrate.h"

namespace plimsoll {

/// What the first steps measured.
struct WarmUp {
  Plan plan;
  Trace trace;
  std::vector<Sample> samples;
  Calibration calibration;
  StepOdds odds;  ///< what the steps to come will be like
};

/// How many of the steps from `first_step` on belong to the warm-up: what the request asks for, but at most half of a
/// training of four steps or more. At least two, as the first step of a process tells little, and never all: else none.
std::int64_t warm_up_share(const RunRequest& request, std::int64_t first_step);

/// Whether the CPU may update no block: its products for muon would sum otherwise than the GPU's, and plans must agree to the bit.
bool device_updates(const RunRequest& request);

/// The cautious plan of the first steps, for the machine of the request's own plan if it has one. It keeps states in memory; on a drive,
/// which is sampled then, where memory is too small for that or what will run may be bound to the drive. Where states fit only
/// divided over all memories, it is the plan that is best under the request's costs. Verified. Fails with what is missing when not
/// even this plan fits.
Result<Plan> cautious_plan(const RunRequest& request);

/// What a trace of that plan's steps tells: samples, and costs that are calibrated on them.
WarmUp learn(Plan plan, Trace trace, std::shared_ptr<const CostModel> fallback);

/// Runs the request's warm-up steps alone, with weights that nobody keeps.
Result<WarmUp> warm_up(const RunRequest& request, const BatchSource& batches, const std::atomic<bool>& stop);

/// "gpu0 needs 1.2 GiB, usable 0.5 GiB" for every space that is short; kInfeasible.
Error does_not_fit(const std::string& what, const Platform& platform, const std::vector<SpaceNeed>& needs);

}  // namespace plimsoll
