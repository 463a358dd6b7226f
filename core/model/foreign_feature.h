#pragma once

#include <string_view>

#include "core/model/model_spec.h"

namespace plimsoll {

/// What `spec` has that only PyTorch's stack, and Megatron's of some of it (check_megatron), can tell the memory and time of, as "has latent
/// attention"; empty where there is nothing. plimsoll's own step and layouts over ranks have neither kernels nor sizes for it.
std::string_view foreign_feature(const ModelSpec& spec);

}  // namespace plimsoll
