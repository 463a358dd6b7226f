#pragma once

#include <cmath>
#include <cstdint>

#include "core/base/quantity.h"

namespace plimsoll {

/// The nearest whole number of bytes to a share of `whole`.
inline Bytes share_of(Bytes whole, double share) {
  return Bytes(static_cast<std::int64_t>(std::llround(static_cast<double>(whole.count) * share)));
}

}  // namespace plimsoll
