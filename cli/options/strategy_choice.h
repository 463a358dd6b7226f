#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/recipe.h"
#include "core/plan/strategy.h"

namespace plimsoll {

/// What --strategy asks for: a family's name (or "auto", "all"), or what a file says, to the letter.
struct StrategyChoice {
  std::string family = "auto";
  std::optional<Strategy> exact;
};

/// What the text of --strategy means: a file when it ends in ".json" or names a file that exists and no family, else a
/// name, which the search checks. A file that cannot be read is refused with the key at fault.
Result<StrategyChoice> read_strategy_choice(const std::string& text);

/// Where `name` is a published system that trains by another recipe than the one asked for, makes that of it and says so.
Result<void> take_system(const std::string& name, Recipe& recipe, std::vector<std::string>& notes);

/// The help text of --strategy; `also` stands after "auto".
std::string strategy_help(const std::string& also = {});

/// Fails when --save-strategy names what cannot be written or must not be overwritten.
Result<void> check_strategy_output(const std::string& path);

/// Writes the strategy where --save-strategy says; nothing for an empty path.
void save_strategy(const std::string& path, const Strategy& strategy);

}  // namespace plimsoll
