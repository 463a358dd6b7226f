#pragma once

#include "core/base/result.h"
#include "core/model/recipe.h"
#include "core/platform/platform.h"

namespace plimsoll {

/// Whether a processor has units for products in that precision. A GPU without them is refused by name, with the precision to
/// take instead: what it emulates is slower than fp32.
Result<void> check_precision(const Processor& processor, Precision precision);

}  // namespace plimsoll
