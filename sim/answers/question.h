#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/recipe.h"
#include "core/platform/platform.h"
#include "formats/machines/gpu_catalogue.h"
#include "formats/machines/machine_options.h"
#include "formats/runs/answers.h"
#include "sim/cost/cost_model.h"
#include "sim/planner/search_plan.h"
#include "sim/stack/stack_setup.h"

namespace plimsoll {

/// A GPU of the catalogue and what is around it.
struct CataloguedMachine {
  GpuEntry gpu;
  MachineOptions options;
};

/// One training on one machine: what `fit` is asked, and what every other answer asks again with something changed.
struct Question {
  ModelSpec spec;
  Recipe recipe;
  std::string strategy = "auto";
  std::optional<Strategy> exact;            ///< this very strategy, whatever `strategy` says
  std::optional<StackSetup> stack;          ///< of another program than ours
  std::optional<CataloguedMachine> machine; ///< nothing: a machine that is known as a whole only
  Platform platform;                        ///< of `machine`, or as it was probed or written out
  std::shared_ptr<const CostModel> costs;
};

/// The question on another machine of the catalogue. Fails where nothing of it is left for a plan.
Result<Question> on_machine(Question question, CataloguedMachine machine);

/// How hard to look for a plan of ours.
struct Effort {
  std::vector<Strategy> seeds;    ///< further starting points
  std::size_t instruction_budget = kInstructionBudget;
  bool refine = true;
  unsigned threads = 0;
  std::shared_ptr<SharedSteps> shared =
      {};                         ///< of a command that asks about machines that differ little; nothing: not used
  std::shared_ptr<KnownPackings> packings =
      {};                         ///< of a command that packs much alike; nothing: the answer's own
  bool alternatives = true;       ///< tell of the families that were not taken
  std::size_t room_budget = 0;    ///< above 0: tell what would fit where it does not (room_to_fit, stack_savings), searched with so much
  double margin_percent = 0;      ///< above 0: tell whether a plan of ours stays the best when estimates are off by so much
};

/// The answer: of our own plans by search, of other programs by their rules.
Result<FitAnswer> answer_question(const Question& question, const Effort& effort = {});

/// Sequences that one sample has: two where answers are compared in pairs.
std::int64_t sequences_a_sample(const Question& question);

/// The search of that answer alone, of a plan of ours: the best plan's strategy, needs and step.
Result<Candidate> best_candidate(const Question& question, const Effort& effort = {});

}  // namespace plimsoll
