#pragma once

#include <memory>
#include <optional>

#include "core/model/recipe.h"
#include "sim/stack/modules/module_rules.h"
#include "sim/stack/tape/tape.h"

namespace plimsoll {

/// A model whose parameters lie on a tape.
class StackModel {
 public:
  virtual ~StackModel() = default;

  struct Loss {
    Tensor loss;
    Tensor logits;  ///< nothing unless the training loop holds them
  };
  /// The forward pass of one micro-batch.
  virtual Loss loss(std::optional<DType> autocast) = 0;
  /// Log-probabilities of a micro-batch, of which no gradients are wanted; of models that are asked for them.
  virtual void score([[maybe_unused]] std::optional<DType> autocast, [[maybe_unused]] bool without_adapters) {}
};

/// The layers that `spec` means, with parameters of type `weights`; beside the reference that the setup's training holds it against.
std::unique_ptr<StackModel> make_stack_model(Tape& tape, const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup,
                                             const ModuleRules& rules, DType weights);

}  // namespace plimsoll
