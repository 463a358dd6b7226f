#pragma once

#include <cstdint>

namespace plimsoll {

/// Whether all of a model must be in its checkpoint, or its head may be new: what of it is not there stays as it is.
enum class HeadWeights : std::uint8_t { kStored, kMayBeNew };

}  // namespace plimsoll
