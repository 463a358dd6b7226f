#pragma once

#include <string>

#include "cli/options/durability_flags.h"
#include "core/model/recipe.h"
#include "core/platform/platform.h"
#include "formats/runs/answers.h"

namespace plimsoll {

/// Adds what the durability that the flags ask for costs the answer's plan; nothing for none. The flags have been checked.
void add_safety(const DurabilityFlags& flags, const ModelSpec& spec, const Recipe& recipe, const Platform& platform, FitAnswer& answer);

/// "safety  a checkpoint every 100 steps: 1.4 GiB written, 0.7 s, 0.4 % of the steps' time …", and what was measured of it.
std::string safety_text(const SafetyAnswer& answer);

}  // namespace plimsoll
