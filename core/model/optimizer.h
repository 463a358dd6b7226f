#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace plimsoll {

/// Rules by which weights follow their gradients; docs/optimizers.md has each one's formula, state and source.
enum class OptimizerKind : std::uint8_t {
  kAdamW, kSgd, kMomentum, kAdam, kAdam8bit, kAdafactor, kSm3, kLamb, kLars, kLion,
  kMuon,
};

/// A rule's name, the numbers that it starts from, and which of a recipe's numbers it reads at all (every rule reads the
/// learning rate and the weight decay).
struct OptimizerRule {
  OptimizerKind kind = OptimizerKind::kAdamW;
  std::string_view name;
  double learning_rate = 0;
  double weight_decay = 0;
  double beta1 = 0;    ///< both 0: the rule reads no betas
  double beta2 = 0;
  double epsilon = 0;  ///< 0: the rule reads none
  double momentum = 0;  ///< 0: the rule reads none
  bool nesterov = false;       ///< whether the rule can look ahead
  double trust = 0;            ///< 0: the rule reads none
  bool relative_step = false;  ///< whether the rule can take steps relative to the weights

  bool whole_tensors = false;  ///< whether the rule looks at whole tensors (or blocks of them), not at single elements

  [[nodiscard]] bool reads_betas() const { return beta2 > 0; }
};

/// What is known of a rule before any recipe changes it.
const OptimizerRule& rule_of(OptimizerKind kind);

std::string_view to_text(OptimizerKind optimizer);
/// The rule of that name; an unknown one is refused with all names.
Result<OptimizerKind> parse_optimizer(std::string_view text);
/// "sgd, momentum, adam, …", for help and errors.
std::string optimizer_names();

}  // namespace plimsoll
