#include "sim/stack/modules/preference_model.h"

namespace plimsoll {

/// Once over the micro-batch; of KTO also over the mismatched answers, from which it estimates how far both models are apart.
void PreferenceModel::refer(std::optional<DType> autocast) {
  const int passes = setup_.method == PreferenceMethod::kKto ? 2 : 1;
  for (int i = 0; i < passes; ++i) {
    if (copy_ != nullptr) copy_->score(autocast, false);
    if (reference_ == ReferencePass::kAdaptersOff) policy_->score(autocast, true);
  }
}

/// Of GRPO all that was written is scored first: by the model, because vLLM's log-probabilities are not quite its own, and by the reference.
void PreferenceModel::prepare(std::optional<DType> autocast, std::int64_t micro_batches) {
  if (!setup_.writes()) return;
  for (std::int64_t i = 0; i < micro_batches && setup_.rollout != Rollout::kTransformers; ++i) policy_->score(autocast, false);
  for (std::int64_t i = 0; i < micro_batches; ++i) refer(autocast);
}

StackModel::Loss PreferenceModel::loss(std::optional<DType> autocast) {
  if (setup_.method == PreferenceMethod::kKto) policy_->score(autocast, false);
  Loss made = policy_->loss(autocast);
  if (!setup_.writes()) refer(autocast);
  tape_.at("loss");
  return made;
}

}  // namespace plimsoll
