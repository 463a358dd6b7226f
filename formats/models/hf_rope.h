#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "core/model/model_spec.h"
#include "formats/models/config_fields.h"

namespace plimsoll {

/// Reads rope_theta, rope_scaling and rope_parameters (an object with all of it, as newer files have) into `spec`, whose
/// head_dim is known; `rotated` is the share of a head that is rotated when the file does not say, and other shares than 1
/// are refused where the family has none (no value). What contradicts itself is a fault of `fields`. Returns what a kind of
/// scaling without a kernel asks for.
std::optional<std::string> read_rope(ConfigFields& fields, ModelSpec& spec, std::optional<double> rotated);

/// The keys from which transformers, old and new, makes the same rotary frequencies.
void write_rope(nlohmann::ordered_json& config, const ModelSpec& spec);

}  // namespace plimsoll
