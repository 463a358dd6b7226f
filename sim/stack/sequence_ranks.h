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
bool shares_sequence(const StackSetup& setup);

/// Ranks that ZeRO shares states out over: those of a sequence take part.
std::int64_t zero_ranks(const StackSetup& setup);

/// What was taken for granted of ranks that share a sequence.
std::string sequence_ranks_assumption();

/// Refuses, by name, what ranks cannot share so.
Result<void> check_sequence_ranks(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup);

}  // namespace plimsoll
