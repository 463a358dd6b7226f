#pragma once

#include <optional>

#include "core/base/quantity.h"

namespace plimsoll {

/// Bytes that this process may pin (ulimit -l), as registering buffers does; nothing when there is no limit for it.
std::optional<Bytes> locked_memory_limit();

}  // namespace plimsoll
