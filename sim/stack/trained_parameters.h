#pragma once

#include <cstdint>

#include "core/model/model_spec.h"
#include "core/model/recipe.h"
#include "formats/machines/gpu_catalogue.h"
#include "sim/stack/stack_setup.h"

namespace plimsoll {

/// Elements that the setup's modules train: of a frozen model, those of what stands beside it.
std::int64_t trained_parameters(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu);

}  // namespace plimsoll
