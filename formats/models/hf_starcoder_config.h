#pragma once

#include "formats/models/config_fields.h"
#include "formats/models/model_description.h"

namespace plimsoll {

/// Reads StarCoder 2's configuration into `found`, whose spec has StableLM's defaults: its blocks are those of StableLM with
/// biases and one GELU in place of a gate.
void read_starcoder_config(ConfigFields& fields, ModelDescription& found);

}  // namespace plimsoll
