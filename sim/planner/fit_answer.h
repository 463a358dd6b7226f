#pragma once

#include "formats/runs/answers.h"
#include "sim/planner/lower_bound.h"
#include "sim/planner/search_plan.h"

namespace plimsoll {

/// The answer for a plan and what the simulator says of it.
FitAnswer fit_answer(const Plan& plan, const Prediction& prediction, const LowerBound& bound, std::string calibration_source);

/// The answer of a search: its plan, or when nothing fits the candidate that is short of the least; the best of every
/// other family beside it unless they are not asked for, which saves simulating them.
Result<FitAnswer> fit_answer(const SearchResult& search, const SearchProblem& problem, bool alternatives = true);

/// Model arithmetic of a step: 6 operations a matrix weight and token, and attention's lower triangle (Kaplan et al. 2020).
double model_flops_of_step(const ModelSpec& spec, const Recipe& recipe);

}  // namespace plimsoll
