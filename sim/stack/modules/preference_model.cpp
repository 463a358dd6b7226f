#include "sim/stack/modules/preference_model.h"

namespace plimsoll {

/// Once over the micro-batch; of KTO also over the mismatched answers, from which it estimates how far both models are apart.
void PreferenceModel::refer(std::optional<DType> autocast) {
  const int passes = method_ == PreferenceMethod::kKto ? 2 : 1;
  for (int i = 0; i < passes; ++i) {
    if (copy_ != nullptr) copy_->score(autocast, false);
    if (reference_ == ReferencePass::kAdaptersOff) policy_->score(autocast, true);
  }
}

StackModel::Loss PreferenceModel::loss(std::optional<DType> autocast) {
  if (method_ == PreferenceMethod::kKto) policy_->score(autocast, false);
  Loss made = policy_->loss(autocast);
  refer(autocast);
  tape_.at("loss");
  return made;
}

}  // namespace plimsoll
