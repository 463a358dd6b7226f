#pragma once

#include <string>

#include "core/model/recipe.h"
#include "sim/planner/systems/compare_systems.h"

namespace plimsoll {

/// Our own plan in full, then one line for it and for each published system: whether it fits, its step and rate, what it needs
/// of each memory, what limits it, and how much slower it is than ours.
std::string comparison_text(const SystemComparison& comparison, const Recipe& recipe, const std::string& machine);

/// All answers that there are, ours among them, those that fit first, faster ones first.
std::string comparison_csv(const SystemComparison& comparison);
std::string comparison_json(const SystemComparison& comparison);

}  // namespace plimsoll
