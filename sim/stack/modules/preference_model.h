#pragma once

#include <memory>
#include <optional>

#include "sim/stack/modules/stack_model.h"
#include "sim/stack/preference_setup.h"

namespace plimsoll {

/// A model that is trained on preferences or rewards: its loss holds log-probabilities of its own against a reference's, or against what they were when
/// it wrote (TRL's DPO, KTO and GRPO trainers).
class PreferenceModel : public StackModel {
 public:
  /// `copy`: the frozen reference, where it is one.
  PreferenceModel(Tape& tape, const PreferenceSetup& setup, ReferencePass reference, std::unique_ptr<StackModel> policy, std::unique_ptr<StackModel> copy)
      : tape_(tape), setup_(setup), reference_(reference), policy_(std::move(policy)), copy_(std::move(copy)) {}

  Loss loss(std::optional<DType> autocast) override;
  void write(std::optional<DType> autocast, std::int64_t tokens) override { policy_->write(autocast, tokens); }
  void prepare(std::optional<DType> autocast, std::int64_t micro_batches) override;
  void score(std::optional<DType> autocast, bool without_adapters) override { policy_->score(autocast, without_adapters); }

 private:
  void refer(std::optional<DType> autocast);

  Tape& tape_;
  const PreferenceSetup& setup_;
  ReferencePass reference_;
  std::unique_ptr<StackModel> policy_;
  std::unique_ptr<StackModel> copy_;
};

}  // namespace plimsoll
