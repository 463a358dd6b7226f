#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/model_spec.h"
#include "core/model/recipe.h"
#include "core/plan/planned_operators.h"
#include "core/plan/strategy.h"

namespace plimsoll {

/// Who decided what is exported.
enum class ExportSource : std::uint8_t { kPlan, kPytorch, kDeepspeed, kColossalai, kMegatron };

/// Which activations of a block are computed again.
enum class ExportedCheckpoints : std::uint8_t {
  kNone,
  kSelective,  ///< as its program has it: Megatron's attention core, or PyTorch's every other product and what is not
               ///< fused attention
  kOperators,  ///< blocks are computed again but for the operators that `blocks` says are kept
  kBlocks,     ///< the inputs of every `every`-th block are kept, nothing else
};

/// A training as other programs are told of it: what a plan of ours, or the setup of one of them, decides and their
/// options speak of. Exporters write it, and read_deepspeed reads it.
struct ExportedTraining {
  ModelSpec spec;
  Recipe recipe;
  ExportSource source = ExportSource::kPlan;
  std::string origin;                 ///< in words: "plan 'zero-offload' of plimsoll", "setup of deepspeed"
  std::vector<std::string> foretold;  ///< what was predicted, a line each; may be empty

  std::string preferences;            ///< "dpo", "kto", "grpo": what is learned from where it is not texts; empty: texts

  std::int64_t data_ranks = 1;
  std::int64_t tensor_ranks = 1;
  std::int64_t stages = 1;
  std::int64_t chunks = 1;
  std::int64_t context_ranks = 1;
  bool sequence_parallel = false;
  int zero = 0;  ///< 1 states, 2 and gradients, 3 and parameters are shared out

  Tier parameters = Tier::kDevice;
  Tier gradients = Tier::kDevice;
  Tier optimizer = Tier::kDevice;
  Tier activations = Tier::kDevice;
  double parameters_away = 0;   ///< share of the parameters that wait at `parameters`
  double updates_away = 0;      ///< share of the parameters whose states wait at `optimizer`, and which the CPU updates
  double updates_visit = 0;     ///< share of the parameters whose states come to the device in the plan, which updates them there
  double activations_away = 0;  ///< share of the blocks whose checkpoints wait at `activations`
  double states_in_host = 0;  ///< with `optimizer` on the SSD: share of the parameters whose states wait in host memory

  ExportedCheckpoints checkpoints = ExportedCheckpoints::kNone;
  std::int64_t every = 1;
  std::vector<std::vector<PlannedOperator>> blocks;  ///< of a plan; empty of a setup

  bool compile = false;
  bool update_in_backward = false;
  bool breadth_first = false;
  bool overlaps = true;
  std::int64_t staging_slots = 2;
  std::int64_t reduce_bucket = 500'000'000;  ///< elements
  double selected_share = 0;                 ///< ZenFlow's share of columns
  std::int64_t update_every = 4;
  bool automatic_placement = false;  ///< Gemini's
  std::string loop = "foreach";      ///< of the optimizer over its tensors
  std::string nvme = "/local_nvme";  ///< the folder for what waits on the SSD

  [[nodiscard]] std::int64_t gpus() const { return data_ranks * tensor_ranks * stages * context_ranks; }
  [[nodiscard]] std::int64_t global_batch() const { return recipe.micro_batch * recipe.accumulate * data_ranks; }
  [[nodiscard]] bool of_plan() const { return source == ExportSource::kPlan; }
};

/// What of a plan of ours other programs can be told. Fails for a plan of another stack and for one without a model.
Result<ExportedTraining> exported_training(const Plan& plan);

}  // namespace plimsoll
