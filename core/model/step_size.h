#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "core/model/recipe.h"

namespace plimsoll {

/// The longest sequence of a training: within its window where plimsoll's own step runs the model, else all positions.
std::int64_t longest_trained(const ModelSpec& spec, bool own_step);

/// Tokens of a sequence when nobody says: the model's positions, at most 1024; an image's are what they are.
std::int64_t usual_sequence(const ModelSpec& spec);

/// A step of more instructions than a computer can plan is refused before it fills the memory.
Result<void> check_step_size(const ModelSpec& spec, const Recipe& recipe);

}  // namespace plimsoll
