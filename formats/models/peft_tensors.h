#pragma once

#include <string>
#include <vector>

#include "core/model/adapter.h"
#include "formats/models/hf_tensors.h"

namespace plimsoll {

/// What PEFT calls the matrix beside which an adapter of that target stands, where its own name is not unique with the name
/// of the module around it ("q_proj", "attn.c_proj"); these are an adapter_config.json's target_modules.
std::string peft_module(AdapterTarget target, const ModelSpec& spec);

/// Every tensor of PEFT's adapter_model.safetensors for adapters of a model of `spec`, by group: A [rank, inputs] and
/// B [outputs, rank] of each target of each block.
std::vector<HfTensor> peft_tensors(const ModelSpec& spec, const AdapterSpec& adapter);

}  // namespace plimsoll
