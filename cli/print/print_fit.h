#pragma once

#include <string>
#include <vector>

#include "core/model/recipe.h"
#include "formats/runs/answers.h"

namespace plimsoll {

/// The verdict, the plan in words, time, memory, what limits it, and why other families were rejected, as lines for a
/// person. `of_images`: a sample is an image, not a sequence of tokens.
std::string fit_text(const FitAnswer& answer, const Recipe& recipe, const std::string& machine, bool of_images = false);

/// What each memory needs and has, by category, as CSV.
std::string memory_csv(const FitAnswer& answer);

/// "Assumed:" and one line for each default that was taken.
std::string notes_text(const std::vector<std::string>& notes);

}  // namespace plimsoll
