#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/model/model_spec.h"
#include "core/model/recipe.h"
#include "sim/stack/stack_setup.h"

namespace plimsoll {

/// Whether context ranks share sequences as DeepSpeed's Ulysses does it in transformers' models: all layers see a rank's tokens,
/// attention all tokens for a rank's heads (Jacobs et al. 2023; ALST, Bekman et al. 2025).
bool exchanges_heads(const StackSetup& setup);

/// Whether they share them as PyTorch's context_parallel does it beside FSDP (torchtitan, accelerate): all layers see a rank's
/// tokens, and keys and values of the other ranks come to its attention one after another (ring attention, Liu et al. 2023).
bool passes_keys_round(const StackSetup& setup);

/// Whether they share them in one of these ways. Megatron's ring, whose stages are made of other layers, is none of them.
bool shares_sequence(const StackSetup& setup);

/// Ranks that ZeRO or FSDP shares states out over: those of a sequence take part.
std::int64_t zero_ranks(const StackSetup& setup);

/// What was taken for granted of ranks that share a sequence.
std::string sequence_ranks_assumption(const StackSetup& setup);

/// Refuses, by name, what ranks cannot share so.
Result<void> check_sequence_ranks(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup);

}  // namespace plimsoll
