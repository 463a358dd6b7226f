#pragma once

#include <memory>
#include <optional>

#include "sim/stack/modules/stack_model.h"
#include "sim/stack/preference_setup.h"

namespace plimsoll {

/// A model that is trained on preferences: its loss holds log-probabilities of its own against a reference's (TRL's DPO and KTO trainers).
class PreferenceModel : public StackModel {
 public:
  /// `copy`: the frozen reference, where it is one.
  PreferenceModel(Tape& tape, PreferenceMethod method, ReferencePass reference, std::unique_ptr<StackModel> policy, std::unique_ptr<StackModel> copy)
      : tape_(tape), method_(method), reference_(reference), policy_(std::move(policy)), copy_(std::move(copy)) {}

  Loss loss(std::optional<DType> autocast) override;
  void score(std::optional<DType> autocast, bool without_adapters) override { policy_->score(autocast, without_adapters); }

 private:
  void refer(std::optional<DType> autocast);

  Tape& tape_;
  PreferenceMethod method_;
  ReferencePass reference_;
  std::unique_ptr<StackModel> policy_;
  std::unique_ptr<StackModel> copy_;
};

}  // namespace plimsoll
