#pragma once

#include <string_view>

namespace plimsoll {

/// The text of a file under data/training that the build embeds, named relative to the repository's root; empty when there
/// is none of that name.
std::string_view embedded_training(std::string_view name);

}  // namespace plimsoll
