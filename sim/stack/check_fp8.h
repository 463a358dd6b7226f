#pragma once

#include "core/base/result.h"
#include "core/model/model_spec.h"
#include "core/model/recipe.h"
#include "formats/machines/gpu_catalogue.h"
#include "sim/stack/stack_setup.h"

namespace plimsoll {

/// Whether the setup's products in 8 bits can run: the GPU's units, the program, the types beside them, and the sizes that such
/// kernels take. What cannot is refused by name.
Result<void> check_fp8(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu);

}  // namespace plimsoll
