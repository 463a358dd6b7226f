#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "core/model/model_spec.h"
#include "formats/models/config_fields.h"

namespace plimsoll {

/// Whether a value says nothing: null, false, empty, 0 or the key's neutral value.
bool is_off(const nlohmann::json& value, double neutral);

/// A fault of `fields` for each feature that a configuration asks for and its family's reader does not know.
void refuse_unsupported(ConfigFields& fields, Family family, std::string_view type);

}  // namespace plimsoll
