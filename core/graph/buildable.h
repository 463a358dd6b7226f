#pragma once

#include <string_view>

#include "core/base/result.h"
#include "core/model/recipe.h"

namespace plimsoll {

/// What of a model's shape our own step has no kernels for ("is an encoder with a decoder"); empty: nothing.
std::string_view unbuildable_shape(const ModelSpec& spec);

/// The same of its training, with adapters beside it or without.
std::string_view unbuildable_training(const ModelSpec& spec, bool adapters);

/// Whether a graph of our own kernels can be built: a model of another shape is refused with what can simulate it.
Result<void> check_buildable(const ModelSpec& spec, const Recipe& recipe);

}  // namespace plimsoll
