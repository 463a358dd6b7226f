#pragma once

#include <string_view>

#include "formats/models/config_fields.h"
#include "formats/models/model_description.h"

namespace plimsoll {

/// What the model_types 'granite', 'smollm3' and 'seed_oss' have beside Llama's keys, which `found` holds already; others have nothing.
void read_llama_relative(ConfigFields& fields, std::string_view type, ModelDescription& found);

}  // namespace plimsoll
