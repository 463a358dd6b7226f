#pragma once

#include <vector>

#include "core/model/tensor_slice.h"

namespace plimsoll {

/// The model that one of the ranks has that share a mixture's experts (Lepikhin et al. 2020, GShard, section 3.3): its part of
/// each block's experts, neighbours in their order; routers and all else whole. The number of experts must divide.
ModelSpec experts_of_rank(const ModelSpec& spec, const TensorShare& share);

/// Which elements of a group of the whole model stand where in the same group of that rank's; in the rank's order.
std::vector<ElementRun> runs_of_experts(const ModelSpec& spec, GroupId group, const TensorShare& share);

/// Stretches of a rank's group that are of its experts; nothing in blocks without.
std::vector<ElementRun> own_runs_of_experts(const ParameterGroup& group);

}  // namespace plimsoll
