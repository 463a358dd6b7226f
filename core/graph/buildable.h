#pragma once

#include "core/base/result.h"
#include "core/model/recipe.h"

namespace plimsoll {

/// Whether a graph of our own kernels can be built: a model of another shape is refused with what can simulate it.
Result<void> check_buildable(const ModelSpec& spec, const Recipe& recipe);

}  // namespace plimsoll
