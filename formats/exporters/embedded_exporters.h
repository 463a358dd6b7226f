#pragma once

#include <string_view>

namespace plimsoll {

/// The text of a script under formats/exporters that the build embeds, named relative to the repository's root; empty
/// when there is none of that name.
std::string_view embedded_exporters(std::string_view name);

}  // namespace plimsoll
