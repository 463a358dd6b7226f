#pragma once

#include <vector>

#include "formats/models/hf_tensors.h"

namespace plimsoll {

/// The tensors of a BERT or a ViT under transformers' names; as hf_tensors.
std::vector<HfTensor> encoder_tensors(const ModelSpec& spec, const ParameterLayout& layout);

/// Whether the tensor belongs to a head or a pooler that encoders are stored with and that not every model of them uses.
bool is_spare_of_encoder(std::string_view name);

}  // namespace plimsoll
