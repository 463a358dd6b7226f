#pragma once

#include "session/run_session.h"

namespace plimsoll {

/// The plan that will run, what to expect of it, and what else was considered.
struct ChosenPlan {
  Plan plan;
  std::string digest;
  Prediction prediction;
  std::vector<Candidate> candidates;
};

/// Searches under `costs`, or takes the request's own plan after checking that it is for this model and this computer.
/// The result is verified.
Result<ChosenPlan> choose_plan(const RunRequest& request, const CostModel& costs);

}  // namespace plimsoll
