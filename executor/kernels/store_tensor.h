#pragma once

#include <cstddef>
#include <span>

#include "core/model/stored_group.h"

namespace plimsoll {

/// Writes a tensor of a group into the bytes in which the group is kept: rounded to the type that compute reads, or encoded.
void store_tensor(std::span<const float> values, const StoredTensor& where, BaseStorage storage, std::span<std::byte> group);

}  // namespace plimsoll
