#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/planner/lower_to_plan.h"
#include "sim/planner/predict.h"

namespace plimsoll {

/// A strategy that was looked at: what it needs and, if that fits, how long its step takes.
struct Candidate {
  Strategy strategy;
  std::vector<SpaceNeed> needs;
  std::optional<Nanoseconds> step;  ///< nothing when it does not fit

  [[nodiscard]] bool fits() const;
  /// Sum of what is missing over all spaces.
  [[nodiscard]] Bytes shortfall() const;
};

/// The fastest plan that fits, and everything that was considered.
struct SearchResult {
  std::optional<Plan> plan;              ///< nothing when no candidate fits
  std::optional<Prediction> prediction;  ///< of `plan`
  std::vector<Candidate> candidates;     ///< those that fit by time, then the others by shortfall
};

struct SearchOptions {
  std::string strategy = "auto";  ///< "auto", or the name of one family
  bool evaluation = false;        ///< the plan gets an "evaluation" body
};

/// Every strategy that the search considers for a model of that many layers on that platform, in a fixed order.
std::vector<Strategy> candidate_strategies(std::int64_t layers, const Platform& platform, Precision precision);

/// Lowers every candidate, drops those that do not fit, simulates the rest and keeps the fastest (ties: the earlier one).
/// Candidates are tried on all cores, so `costs` must bear being asked from several threads, as its interface says.
/// Fails on an unknown strategy name (nearest names) or an unknown cost.
Result<SearchResult> search_plan(const ModelSpec& spec, const Recipe& recipe, const Platform& platform, const CostModel& costs,
                                 const SearchOptions& options = {});

}  // namespace plimsoll
