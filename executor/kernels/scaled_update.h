#pragma once

#include <span>

#include "executor/kernels/launch.h"

namespace plimsoll {

/// What an update knows where the loss is scaled: the head of a LossScale, its last operand that is only read.
const LossScale& factor_of(std::span<const OperandView> update);

/// The update of a step whose gradients were not finite: from version to version the old weights and states go on. The weights
/// are published once more, for what a guess published is wrong.
void keep_states(const Kernel& update, std::span<const OperandView> operands);

/// The update of a first step that has no gradients yet, in place: weights and states stay, and the weights are published.
void publish_states(const Kernel& update, std::span<const OperandView> operands);

}  // namespace plimsoll
