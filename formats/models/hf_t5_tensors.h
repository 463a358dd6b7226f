#pragma once

#include <string_view>
#include <vector>

#include "formats/models/hf_tensors.h"

namespace plimsoll {

/// hf_tensors of a T5.
std::vector<HfTensor> t5_tensors(const ModelSpec& spec, const ParameterLayout& layout);

/// Whether a T5's file may hold that tensor beside those of the model: the shared table under its users' names, and biases of
/// cross attention, which the first files have and nobody reads.
bool is_spare_of_t5(std::string_view name);

}  // namespace plimsoll
