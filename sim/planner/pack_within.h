#pragma once

#include <optional>
#include <span>

#include "sim/planner/pack_arena.h"

namespace plimsoll {

/// A packing of the items no higher than `capacity`, by the exact search with a few orders and then by climbing; for when
/// pack_arena came out too high for a strategy whose load has room. Every offset is a multiple of `alignment` and of the item's
/// own. Nothing where none was found, where the load exceeds the capacity, or where there are too many items for a search that
/// weighs strategies.
std::optional<Packing> pack_within(std::span<const PackItem> items, Bytes alignment, Bytes capacity);

}  // namespace plimsoll
