#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "formats/models/model_description.h"
#include "formats/models/safetensors.h"

namespace plimsoll {

/// Reads the text of a Hugging Face config.json of one of the types that docs/models.md lists. An architecture or a feature that
/// changes sizes and is not supported is refused by name; every other key that is neither used nor known to be harmless
/// becomes a note. `where` names the file in errors, `name` becomes the spec's name.
Result<ModelDescription> parse_hf_config(std::string_view text, std::string_view where, std::string name);

/// The same for the file `path`; the model is named after its folder.
Result<ModelDescription> read_hf_config(const std::filesystem::path& path);

/// What a config.json says beside the model itself.
struct ConfigExtras {
  StoredType type = StoredType::kF32;  ///< of the weights beside it
  std::filesystem::path origin;        ///< a folder whose config.json gives the special tokens' ids; may be empty
};

/// The config.json with which transformers builds `spec`; errors when its family there has no such model (a GPT-2 with
/// grouped queries, or with heads that do not fill the hidden size).
Result<std::string> write_hf_config(const ModelSpec& spec, const ConfigExtras& extras = {});

}  // namespace plimsoll
