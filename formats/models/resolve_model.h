#pragma once

#include <string_view>

#include "core/base/result.h"
#include "formats/models/model_description.h"

namespace plimsoll {

/// The model that a user means by `text`: a zoo name, a config.json, a safetensors file, a folder with either, or a shape
/// in words. A path that exists wins over a zoo name only when it contains a separator or is a file. Unknown names suggest
/// the nearest ones.
Result<ModelDescription> describe_model(std::string_view text);

/// The spec alone.
Result<ModelSpec> resolve_model(std::string_view text);

}  // namespace plimsoll
