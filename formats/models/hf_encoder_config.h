#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "formats/models/config_fields.h"
#include "formats/models/model_description.h"

namespace plimsoll {

/// True for the model_types that read_encoder_config reads.
bool is_encoder_type(std::string_view model_type);

/// Reads the configuration of a BERT, a relative of it (`type` is the model_type) or a ViT into `found`, whose spec has the
/// family's defaults. What the architecture asks of the encoder decides its head: hidden tokens or classes; any other is refused
/// by name.
void read_encoder_config(ConfigFields& fields, std::string_view type, ModelDescription& found);

/// Takes mean and deviation of the channels from preprocessor_config.json in `folder`, where there is one.
Result<void> read_preprocessor(const std::filesystem::path& folder, ImageInput& image);

/// The keys and values with which transformers builds an encoder of this spec; errors when it has none like it.
Result<nlohmann::ordered_json> encoder_config(const ModelSpec& spec);

}  // namespace plimsoll
