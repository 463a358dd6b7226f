#pragma once

#include <filesystem>

#include "core/base/result.h"
#include "core/model/recipe.h"
#include "executor/checkpoint/state_access.h"
#include "formats/models/safetensors.h"

namespace plimsoll {

/// How transformers divides a large model's weights by default.
inline constexpr Bytes kShardLimit{5'000'000'000};

/// What to save, and how.
struct SaveOptions {
  StoredType type = StoredType::kF32;  ///< or kBf16
  Bytes shard_limit = kShardLimit;     ///< of a folder's files; a larger tensor has a file of its own
  std::filesystem::path origin;        ///< folder of the model that was trained: its tokenizer and token ids go along; may be empty
};

/// True when weights saved as `path` are one file (.safetensors), not a folder.
bool saves_one_file(const std::filesystem::path& path);

/// What save_weights would refuse before it writes: a folder that is not empty, a model that transformers has not.
Result<void> check_save(const std::filesystem::path& path, const ModelSpec& spec);

/// Writes the weights under Hugging Face's names: to one safetensors file when `path` ends so, else to a folder that
/// from_pretrained loads, with config.json and model.safetensors or, above the limit, shards and their index. A file is
/// replaced at once or not at all; a folder is made under another name and renamed when it is whole, so it must be new or
/// empty. `precision` says in which type `state` shows the weights. A failing disk throws EnvironmentError.
Result<void> save_weights(const std::filesystem::path& path, const ModelSpec& spec, Precision precision,
                          const SaveOptions& options, const ReadState& state);

}  // namespace plimsoll
