#pragma once

#include <filesystem>

#include "core/base/result.h"
#include "core/model/recipe.h"
#include "executor/checkpoint/head_weights.h"
#include "executor/checkpoint/state_access.h"

namespace plimsoll {

/// Reads all weights of `spec` from what HfCheckpoint opens: a safetensors file with Hugging Face's names, an index of
/// shards, or a folder. Every tensor goes straight to its place, one after another. Nothing is written to `state` unless
/// every tensor is there with the right shape; a NaN among them is found on the way, and the state is then of no use.
Result<void> load_weights(const std::filesystem::path& path, const ModelSpec& spec, Precision precision,
                          const WriteState& state);

/// The same for the model that `recipe` trains: frozen matrices that it keeps encoded are encoded one by one.
Result<void> load_weights(const std::filesystem::path& path, const ModelSpec& spec, const Recipe& recipe,
                          const WriteState& state, HeadWeights head = HeadWeights::kStored);

/// What load_weights would refuse before it reads values: files, names, shapes and types, and a config.json beside the
/// weights that is not `spec`'s.
Result<void> check_weights(const std::filesystem::path& path, const ModelSpec& spec, HeadWeights head = HeadWeights::kStored);

}  // namespace plimsoll
