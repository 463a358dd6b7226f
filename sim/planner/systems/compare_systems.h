#pragma once

#include <string>
#include <vector>

#include "formats/runs/answers.h"
#include "sim/planner/try_strategy.h"

namespace plimsoll {

/// A published system that has no plan here, and why.
struct LeftOut {
  std::string system;
  std::string why;
};

/// Our own plan and those of all published systems for the same training.
struct SystemComparison {
  FitAnswer own;
  std::vector<FitAnswer> published;  ///< those that fit by time, then the others
  std::vector<LeftOut> left_out;
};

/// Plans every published system, then searches our own plan from these and the usual starting points. Fails when our own plan
/// cannot be found or a cost is unknown.
Result<SystemComparison> compare_systems(const SearchProblem& problem, unsigned threads = 0);

}  // namespace plimsoll
