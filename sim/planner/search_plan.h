#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/planner/predict.h"
#include "sim/planner/strategy_families.h"
#include "sim/planner/try_strategy.h"

namespace plimsoll {

/// The fastest plan that fits, and everything that was considered.
struct SearchResult {
  std::optional<Plan> plan;              ///< nothing when no candidate fits
  std::optional<Prediction> prediction;  ///< of `plan`
  std::vector<Candidate> candidates;     ///< those that fit by time, then the others by shortfall
};

inline constexpr std::size_t kInstructionBudget = 500'000;

struct SearchOptions {
  std::string strategy = "auto";  ///< "auto", the name of one family, or a published system's
  std::optional<Strategy> exact;  ///< this very strategy, whatever `strategy` says
  bool evaluation = false;        ///< the plan gets an "evaluation" body
  std::vector<Strategy> seeds;    ///< of "auto": further starting points
  std::size_t instruction_budget = kInstructionBudget;  ///< that a refinement may lower and simulate in all
  bool refine = true;             ///< false: the starting points only
  bool systems = true;            ///< of "auto" that refines: the plans of published systems are starting points too
  bool fractions = true;          ///< that refines: linear programmes' shares of blocks, rounded, are starting points too
  unsigned threads = 0;           ///< 0: one a core; the answer does not depend on it
  StepOdds odds;                  ///< see predict
  std::shared_ptr<SharedSteps> shared =
      {};                         ///< of a command that searches machines that differ little; nothing: not used
  std::shared_ptr<KnownPackings> packings = {};  ///< of a command that packs much alike; nothing: the search's own
  bool device_updates = false;    ///< no block's update may be left to the CPU (embedding's and head's may)
  bool plan = true;               ///< false: the best candidate says enough, and the result has no plan
  bool memory = false;            ///< does anything fit at all? Nothing is timed, and the result has no plan
};

/// Tries the families' starting points, what published systems would do and, of the best few tiers among these, the shares of
/// blocks that a linear programme finds (rounded_shares). Then it changes the best few of all of them field by field
/// while that helps, asks for exact addresses at last (pack_within), and lowers and predicts the fastest that fits (ties: the one
/// tried first). So "auto" is never slower than a published system of the same recipe, and fits wherever one does. The effort
/// is a count of strategies, fewer where steps are long. `costs` must bear being asked from several threads, as its interface says. Fails on an unknown strategy name
/// (nearest names), on a strategy that cannot be planned here (why), or on an unknown cost.
Result<SearchResult> search_plan(const ModelSpec& spec, const Recipe& recipe, const Platform& platform, const CostModel& costs,
                                 const SearchOptions& options = {});

}  // namespace plimsoll
