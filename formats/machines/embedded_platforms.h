#pragma once

#include <string_view>

namespace plimsoll {

/// Text of a file of data/platforms/, named relative to the repository's root; empty when it is not one of them.
std::string_view embedded_platforms(std::string_view name);

}  // namespace plimsoll
