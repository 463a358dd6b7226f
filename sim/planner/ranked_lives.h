#pragma once

#include <span>
#include <vector>

#include "sim/planner/pack_arena.h"

namespace plimsoll {

/// The lives counted in beginnings instead of instructions: two overlap exactly when they did, whatever else happens meanwhile.
std::vector<Lifespan> ranked_lives(std::span<const PackItem> items);

}  // namespace plimsoll
