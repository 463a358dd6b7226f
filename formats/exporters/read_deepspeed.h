#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/exporters/exported_training.h"

namespace plimsoll {

/// What a DeepSpeed configuration says of a training. Model, sequence and number of checkpoints' blocks are not in it;
/// what is absent or "auto" there is nothing here.
struct DeepspeedConfiguration {
  ExportedTraining training;  ///< ZeRO, tiers, buckets, ZenFlow, ranks; `every` is 1 until the model's blocks are known
  std::optional<std::int64_t> micro_batch;
  std::optional<std::int64_t> accumulate;
  std::optional<std::int64_t> global_batch;
  std::optional<std::int64_t> checkpoints;  ///< activation_checkpointing/number_checkpoints
  std::optional<double> clip;
  std::optional<Precision> precision;
  std::optional<LossScaling> loss_scaling;
  std::optional<OptimizerKind> optimizer;
  std::optional<double> learning_rate;
  std::optional<double> weight_decay;
  std::optional<double> epsilon;
  std::optional<double> momentum;
  std::vector<double> betas;
  std::vector<std::string> notes;  ///< what it says and nobody here models
};

/// Reads one that any program wrote. Refused, with the key: values of a wrong type or range, fp16 together with bf16,
/// an optimizer that is not known, offloading that its stage does not have.
Result<DeepspeedConfiguration> read_deepspeed(std::string_view text, const std::string& where);

/// Whether a JSON text is such a configuration and not a strategy file of ours.
bool is_deepspeed(std::string_view text);

}  // namespace plimsoll
