#pragma once

#include "formats/models/config_fields.h"
#include "formats/models/model_description.h"

namespace plimsoll {

/// Takes the rates that a configuration states, where they are all alike, and says of each that is not off that plans of ours apply no dropout.
void note_dropout(ConfigFields& fields, ConfigFields::Names names, ModelDescription& found);

}  // namespace plimsoll
