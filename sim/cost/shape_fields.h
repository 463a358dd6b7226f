#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/graph/op.h"

namespace plimsoll {

/// " rows=1024 inputs=768": each size that is not at its default, in the order of OpShape; equal shapes, equal text.
std::string shape_text(const OpShape& shape);

/// Reads what shape_text writes (leading blank included or not).
Result<OpShape> parse_shape(std::string_view text);

}  // namespace plimsoll
