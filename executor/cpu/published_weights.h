#pragma once

#include <cstddef>
#include <span>

#include "core/model/dtype.h"

namespace plimsoll {

/// Writes the weights that an optimizer keeps, of type `from`, into `place` in the type that compute reads, rounded to nearest
/// with ties to even. The two may overlap when both are staged in one place; what `weights` holds is lost then.
void publish_weights(std::span<const std::byte> weights, DType from, std::span<std::byte> place, DType to);

}  // namespace plimsoll
