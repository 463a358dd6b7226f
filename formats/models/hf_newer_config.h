#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "core/base/result.h"
#include "formats/models/config_fields.h"
#include "formats/models/model_description.h"

namespace plimsoll {

/// Whether read_newer_config knows a family's keys: decoders whose blocks differ from Llama's in norms, caps, windows or experts.
bool has_newer_keys(Family family);

/// Fills `found`, which has the family's defaults, from the configuration of a Gemma 2 or 3, OLMo 1 to 3, OLMoE, Qwen 2 mixture,
/// GLM 4.5, gpt-oss, DeepSeek 2 or 3, Kimi K2, GPT-BigCode, Cohere or Llama 4. What is wrong is a fault of `fields`.
void read_newer_config(ConfigFields& fields, std::string_view type, ModelDescription& found);

/// Of a configuration of several modalities whose text part is read (Gemma 3, Llama 4, Mistral 3), that part as a file of its own, with what the
/// outer file says of all; else nothing. A file without the part, or with one of another model, is an error at `where`.
Result<std::optional<nlohmann::json>> text_part(const nlohmann::json& config, std::string_view where);

}  // namespace plimsoll
