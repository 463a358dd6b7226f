#pragma once

#include <filesystem>
#include <string>

#include "core/base/result.h"
#include "core/model/recipe.h"
#include "executor/checkpoint/state_access.h"
#include "formats/models/peft_config.h"
#include "formats/models/safetensors.h"

namespace plimsoll {

/// What the PEFT folder `folder` holds, which must be adapters of a model of `spec`: every tensor is there in its shape.
Result<PeftConfig> describe_adapter(const std::filesystem::path& folder, const ModelSpec& spec);

/// Reads the adapters in `folder` into the adapter groups of `recipe`, whose rank, alpha and targets they must have. Nothing
/// is written to `state` unless every tensor is there; a NaN among them is found on the way, and the state is then of no use.
Result<void> load_adapter(const std::filesystem::path& folder, const ModelSpec& spec, const Recipe& recipe,
                          const WriteState& state);

/// Writes the adapters of `recipe` to a new folder that PeftModel.from_pretrained loads beside `base`: adapter_config.json and
/// adapter_model.safetensors. The folder appears whole or not at all. A failing disk throws EnvironmentError.
Result<void> save_adapter(const std::filesystem::path& folder, const ModelSpec& spec, const Recipe& recipe, StoredType type,
                          const std::string& base, const ReadState& state);

}  // namespace plimsoll
