#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sim/cost/cost_model.h"
#include "sim/planner/folded_bound.h"
#include "sim/planner/known_packings.h"
#include "sim/planner/known_steps.h"
#include "sim/planner/lower_to_plan.h"
#include "sim/planner/lowered_steps.h"
#include "sim/planner/predict.h"

namespace plimsoll {

class FewerMicroBatches;

/// What a search is about; all of it outlives the search.
struct SearchProblem {
  const ModelSpec& spec;
  const Recipe& recipe;
  const Platform& platform;
  const CostModel& costs;
  bool evaluation = false;       ///< the plan gets an "evaluation" body
  StepOdds odds;                 ///< see predict
  std::shared_ptr<const Graph> graph = {};  ///< of all three (graph_on), where many strategies are tried; nothing: built for each
  std::shared_ptr<const StepOutline> outline = {};  ///< of `graph`; nothing: found for each
  std::shared_ptr<const std::vector<GroupSizes>> sizes = {};  ///< of `graph` (state_sizes); nothing: counted for each
  std::shared_ptr<ShorterModels> shorter = {};  ///< of `graph` and `platform`, where memory alone is asked for (Look); nothing: not used
  std::shared_ptr<LoweredSteps> lowered = {};   ///< of this training on machines like this one; nothing: not used
  /// Of a step of many micro-batches, what strategies are ranked by (prepared); nothing: each is looked at whole.
  std::shared_ptr<const FewerMicroBatches> fewer = {};
  std::shared_ptr<KnownPackings> packings = {};  ///< of this and other searches; nothing: not used
  std::shared_ptr<KnownSteps> known = {};  ///< steps that were simulated before, where many strategies are tried; nothing: not used
  bool device_updates = false;  ///< a strategy that leaves a block's update to the CPU is none
};

/// A strategy that was looked at: what it needs and, if that fits, how long its step takes.
struct Candidate {
  Strategy strategy;
  std::vector<SpaceNeed> needs;    ///< of a candidate that does not fit: at least
  std::optional<Nanoseconds> step;  ///< nothing when it does not fit
  bool glanced = false;            ///< not looked at to the end: its lasting state alone is too much, or `step` is a lower bound
  std::size_t instructions = 0;    ///< of its step; 0 when it was not lowered to the end
  bool loose = false;              ///< its load would fit, the addresses that the greedy packing found do not
  std::vector<Bytes> bounds = {};  ///< of each space, what its load alone takes; nothing where it was glanced at
  std::vector<double> loads = {};  ///< queue_loads, where they were asked for

  [[nodiscard]] bool fits() const;
  /// Sum of what is missing over all spaces.
  [[nodiscard]] Bytes shortfall() const;
};

/// How closely a strategy is looked at.
struct Look {
  bool glance = false;  ///< one whose lasting state alone does not fit is not lowered
  bool memory = false;  ///< nothing is simulated: what fits has a step of 0, and may need less than it is told to
  bool tight = false;   ///< addresses are looked for by the exact packing too, where the greedy one's do not fit
  bool loads = false;   ///< what each queue works is told
  std::optional<Bytes> short_of;     ///< one whose lasting state alone is short of as much is not lowered
  std::optional<Nanoseconds> below;  ///< one whose busiest queue alone takes longer is not placed and simulated
};

/// What the strategy's lasting state alone takes of each space: a lower bound of what it needs. Fails as try_strategy does.
Result<std::vector<SpaceNeed>> lasting_needs(const SearchProblem& problem, const Strategy& strategy);

/// The problem with its graph and what follows from it, for who tries many strategies. Steps of many micro-batches are then read
/// off steps of a few: what is chosen has to be confirmed (confirmed_best).
SearchProblem prepared(SearchProblem problem, const std::shared_ptr<SharedSteps>& shared);

/// Lowers the strategy and, if it fits, simulates it. Fails when the strategy cannot be lowered (kInput) or a cost is
/// unknown (kUncalibrated).
Result<Candidate> try_strategy(const SearchProblem& problem, const Strategy& strategy, const Look& look = {});

}  // namespace plimsoll
