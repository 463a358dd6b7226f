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

/// A plan from a file runs here only if it was made for such a machine and needs no more than there is; errors name
/// what it was made for, or what is missing.
Result<void> check_own_plan(const RunRequest& request);

/// Searches under `costs`, or takes the request's own plan after checking that it is for this model and this computer.
/// The result is verified. `odds` say how many steps are expected to clip, or to be skipped.
Result<ChosenPlan> choose_plan(const RunRequest& request, const CostModel& costs, const StepOdds& odds = {});

}  // namespace plimsoll
