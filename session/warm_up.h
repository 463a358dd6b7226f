#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "session/run_session.h"
#include "sim/cost/calibrate.h"

namespace plimsoll {

/// What the warm-up measured.
struct WarmUp {
  Plan plan;
  std::string plan_digest;
  Trace trace;
  std::vector<Sample> samples;
  Calibration calibration;
  double clipped_fraction = 0;  ///< of its steps
};

/// Runs `steps` steps of the cautious plan, traced, and calibrates on them. The steps only profile: their weights are
/// thrown away, so a run's losses do not depend on it. Fails with what is missing when not even this plan fits.
Result<WarmUp> warm_up(const RunRequest& request, const TokenSource& tokens, const std::atomic<bool>& stop);

/// "gpu0 needs 1.2 GiB, usable 0.5 GiB" for every space that is short; kInfeasible.
Error does_not_fit(const std::string& what, const Platform& platform, const std::vector<SpaceNeed>& needs);

}  // namespace plimsoll
