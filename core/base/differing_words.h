#pragma once

#include <string>

namespace plimsoll {

/// The words of `theirs` (between spaces) that `ours` has not, in their order: "lr=0.001 clip=0".
std::string differing_words(const std::string& theirs, const std::string& ours);

}  // namespace plimsoll
