#pragma once

#include <string>

#include "core/model/model_spec.h"
#include "core/model/recipe.h"
#include "formats/text/json_node.h"

namespace plimsoll {

/// The model as one line of JSON that names every field; equal specs, equal text.
std::string write_model(const ModelSpec& spec);
/// The recipe likewise.
std::string write_recipe(const Recipe& recipe);

/// Whether the node describes a model: a plan of copies alone may carry none, or a bare name.
bool names_model(const JsonNode& node);
/// The model that the node describes; what is left out is the family's default, ffn is then 4 · hidden.
ModelSpec read_model(const JsonNode& node);
/// The recipe that the node describes; what is left out keeps its default.
Recipe read_recipe(const JsonNode& node);

}  // namespace plimsoll
