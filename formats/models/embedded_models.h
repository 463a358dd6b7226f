#pragma once

#include <string_view>

namespace plimsoll {

/// The text of a file under data/models that the build embeds, named relative to the repository's root; empty when there
/// is none of that name.
std::string_view embedded_models(std::string_view name);

}  // namespace plimsoll
