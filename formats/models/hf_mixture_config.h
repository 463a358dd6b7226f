#pragma once

#include <string_view>

#include "formats/models/config_fields.h"
#include "formats/models/model_description.h"

namespace plimsoll {

/// Families whose mixtures of experts have more than Mixtral's: OLMoE, Qwen 2's, gpt-oss, DeepSeek 2 and 3, Llama 4.
bool is_mixture(Family family);

/// Fills experts, latent attention, sinks and windows of such a family; `found` has its sizes already.
void read_mixture_config(ConfigFields& fields, std::string_view type, ModelDescription& found);

}  // namespace plimsoll
