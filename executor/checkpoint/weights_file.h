#pragma once

#include <filesystem>

#include "core/base/result.h"
#include "core/model/recipe.h"
#include "executor/checkpoint/state_access.h"
#include "formats/models/safetensors.h"

namespace plimsoll {

/// Writes the weights to a safetensors file under Hugging Face's names, in F32 or BF16; an older file is replaced at
/// once or not at all. `precision` says in which type `state` shows them. A failing disk throws EnvironmentError.
Result<void> save_weights(const std::filesystem::path& path, const ModelSpec& spec, Precision precision,
                          StoredType type, const ReadState& state);

/// Reads all weights of `spec` from a safetensors file with Hugging Face's names, or from model.safetensors in a
/// folder. Nothing is written to `state` unless every tensor is there with the right shape.
Result<void> load_weights(const std::filesystem::path& path, const ModelSpec& spec, Precision precision,
                          const WriteState& state);

}  // namespace plimsoll
