#pragma once

#include <string>

#include "core/base/result.h"
#include "core/model/model_spec.h"
#include "core/model/recipe.h"
#include "sim/stack/stack_setup.h"

namespace plimsoll {

/// Whether tensor ranks share the layers of torchtune modules through DTensor, as torchtitan trains Llama: heads and the feed-forward
/// layer's width divided, embedding and head by words, norms and the stream by tokens; FSDP over the data ranks of each.
bool shares_layers(const StackSetup& setup);

/// What one of them computes: its heads, columns and words (the last may have fewer).
ModelSpec part_of_rank(const ModelSpec& spec, const StackSetup& setup);

/// What was taken for granted of them.
std::string tensor_ranks_assumption(const StackSetup& setup);

/// Refuses, by name, what they cannot share so.
Result<void> check_tensor_ranks(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup);

}  // namespace plimsoll
