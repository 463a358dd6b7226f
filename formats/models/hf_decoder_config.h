#pragma once

#include "formats/models/config_fields.h"
#include "formats/models/model_description.h"

namespace plimsoll {

/// Whether read_decoder_config knows the keys of that family: those whose names are no relatives of GPT-2's or Llama's.
bool has_own_decoder_keys(Family family);

/// Fills `found`, which has the family's defaults, from the configuration of an OPT, BLOOM, GPT-NeoX, GPT-J, Falcon, MPT,
/// Qwen 1 or T5. What is wrong is a fault of `fields`.
void read_decoder_config(ConfigFields& fields, ModelDescription& found);

}  // namespace plimsoll
