#pragma once

#include <string>
#include <utility>

namespace plimsoll {

/// "4x RTX 3090" is that name and four; a name alone is one.
std::pair<std::string, int> count_and_name(const std::string& text);

}  // namespace plimsoll
