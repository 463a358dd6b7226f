#pragma once

#include <nlohmann/json.hpp>

#include "formats/models/config_fields.h"
#include "formats/models/model_description.h"

namespace plimsoll {

/// Fills `found`, which has the family's defaults, from the configuration of a T5 or a Switch Transformer. What is wrong is a
/// fault of `fields`.
void read_t5_config(ConfigFields& fields, ModelDescription& found);

/// The configuration of a T5 without experts.
nlohmann::ordered_json t5_config(const ModelSpec& spec);

}  // namespace plimsoll
