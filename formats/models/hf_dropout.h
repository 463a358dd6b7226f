#pragma once

#include "formats/models/config_fields.h"
#include "formats/models/model_description.h"

namespace plimsoll {

/// Says of each of these rates that a configuration states, unless it is off, that training here applies no dropout.
void note_dropout(ConfigFields& fields, ConfigFields::Names names, ModelDescription& found);

}  // namespace plimsoll
