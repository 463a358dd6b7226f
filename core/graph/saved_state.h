#pragma once

#include "core/base/quantity.h"
#include "core/model/recipe.h"

namespace plimsoll {

/// Bytes of everything that the next step of a training depends on, as a checkpoint holds it: weights in the state's type and what
/// the optimizer keeps, of all that is trained.
Bytes saved_state_bytes(const ModelSpec& spec, const Recipe& recipe);

}  // namespace plimsoll
