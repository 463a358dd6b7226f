#pragma once

#include <string>
#include <vector>

#include "core/plan/plan.h"

namespace plimsoll {

/// A forward operator of a block in the first micro-batch, and what becomes of what it writes until the backward pass.
struct PlannedOperator {
  OpKind kind = OpKind::kAdd;
  std::string output;  ///< name of the first buffer that it writes: "qkv", "attention"
  Bytes written;       ///< activations
  Bytes kept;          ///< of these, what lies there from the forward pass until the backward pass has read it
  Bytes away;          ///< of what is kept, what waits outside of the device's memory
  Bytes again;         ///< what the backward pass computes once more

  bool operator==(const PlannedOperator&) const = default;
};

/// By block: the forward operators of the body "step", in their order. Blocks that the plan does not have stay empty; a
/// plan whose launches name no operands (of another stack) has none at all.
std::vector<std::vector<PlannedOperator>> planned_operators(const Plan& plan);

}  // namespace plimsoll
