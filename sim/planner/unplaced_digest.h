#pragma once

#include <cstdint>

#include "core/plan/expand.h"
#include "sim/planner/buffer_book.h"

namespace plimsoll {

/// A fingerprint of all that addresses, dependencies and simulated times of a plan's step follow from, on one platform with one
/// recipe: instructions, kernels, buffers with their lives. Strategies that say the same in other words (a kept output of no
/// size, a deeper queue than there is to fetch) have the same. 64 bits of XXH3: of a search's thousand plans two that differ
/// have the same with a chance of 3e-14.
std::uint64_t unplaced_digest(const Plan& plan, const FlatBody& step, const BufferBook& book);

}  // namespace plimsoll
