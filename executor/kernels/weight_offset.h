#pragma once

#include <cstdint>

#include "core/graph/op.h"
#include "core/model/model_spec.h"

namespace plimsoll::kernels {

/// What a norm of the shape's kind adds to its weight.
template <typename T>
T weight_offset(const OpShape& shape) {
  return shape.variant == static_cast<std::uint8_t>(NormKind::kRmsNormPlusOne) ? T(1) : T(0);
}

}  // namespace plimsoll::kernels
