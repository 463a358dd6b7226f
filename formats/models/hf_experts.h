#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/model_spec.h"
#include "formats/models/config_fields.h"
#include "formats/models/model_description.h"

namespace plimsoll {

/// Reads what Mixtral's config.json says of its experts. Returns what a person should know of keys that training does not
/// follow; faults are the fields'.
std::vector<std::string> read_experts(ConfigFields& fields, ExpertSpec& experts);

/// The same of Qwen's mixtures, whose experts have a width of their own.
std::vector<ModelNote> read_qwen_experts(ConfigFields& fields, ExpertSpec& experts);

/// Writes the same. An error when transformers' Mixtral has no such mixture, and for experts in other families.
Result<void> write_experts(nlohmann::ordered_json& config, const ModelSpec& spec);

}  // namespace plimsoll
